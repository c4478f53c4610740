import { oneLine } from "@devtool/internal/visible-text";
import type { UserMessage } from "../user-messages.ts";
import type { Intent } from "./intent.ts";
import { firstShown, type Picker } from "./picker.ts";

/** Lets the user choose one of their messages, the newest at first. */
export class MessagePicker implements Picker {
  readonly enterHint = "Enter goes on from before it";
  filter = "";
  readonly #messages: readonly UserMessage[];
  readonly #onChosen: (message: UserMessage | undefined) => void;
  /** The message that is marked. */
  #marked: UserMessage | undefined;

  /** @param onChosen receives the message; undefined when none was chosen */
  constructor(
    messages: readonly UserMessage[],
    onChosen: (message: UserMessage | undefined) => void,
  ) {
    this.#messages = messages;
    this.#onChosen = onChosen;
  }

  lines(maxLines: number): string[] {
    const [shown, index] = [this.#shown, this.#index];
    if (shown.length === 0) return ["  no message contains this"];
    const from = firstShown(index, shown.length, maxLines);
    return shown
      .slice(from, from + maxLines)
      .map(
        ({ text }, at) =>
          `${from + at === index ? "❯" : " "} ${oneLine(text) || "(no text)"}`,
      );
  }

  take(intent: Intent): void {
    const [shown, index] = [this.#shown, this.#index];
    if (intent.case === "escape" || intent.case === "escape twice") {
      this.#onChosen(undefined);
    } else if (intent.case === "submit") {
      this.#onChosen(shown[index]);
    } else if (intent.case === "up") {
      this.#marked = shown[index - 1] ?? this.#marked;
    } else if (intent.case === "down") {
      this.#marked = shown[index + 1] ?? this.#marked;
    } else if (intent.case === "insert") {
      this.filter += intent.text;
    } else if (intent.case === "delete") {
      this.filter = this.filter.slice(0, -1);
    }
  }

  get #shown(): readonly UserMessage[] {
    const wanted = this.filter.toLowerCase();
    return this.#messages.filter(({ text }) =>
      text.toLowerCase().includes(wanted),
    );
  }

  /** The position of the marked message, or else of the newest. */
  get #index(): number {
    const at = this.#marked ? this.#shown.indexOf(this.#marked) : -1;
    return at < 0 ? this.#shown.length - 1 : at;
  }
}
