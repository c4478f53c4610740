import { oneLine } from "@devtool/internal/visible-text";
import stringWidth from "string-width";
import { userMessage } from "../error-text.ts";
import { type LineStyle, visible } from "../render/style.ts";
import { type ShownTask, textPart } from "./chat-tasks.ts";
import { type Entry, userLines, wrapLine } from "./entry.ts";

/** Dependencies of `Printout`. */
interface PrintoutOptions {
  /** Returns how lines are made for the terminal as it is now. */
  readonly style: () => LineStyle;
  /** Called after each entry that was added. */
  readonly onChange: () => void;
}

/**
 * The lines that a chat has printed: the finished parts of its tasks, and
 * notices of the program itself. Lines are never removed.
 */
export class Printout {
  /** What was printed, the newest last. */
  entries: readonly Entry[] = [];
  readonly #options: PrintoutOptions;
  #notices = 0;
  /** The keys of the entries whose whole was shown. */
  readonly #shownWhole = new Set<string>();

  constructor(options: PrintoutOptions) {
    this.#options = options;
  }

  /** Prints the parts of a task that have finished since the last call. */
  advance({ view, scrollback }: ShownTask): void {
    this.#print(...scrollback.advance(view.snapshot(), this.#options.style()));
  }

  /** Prints a line of the program itself. */
  tell(text: string): void {
    const { paint, columns } = this.#options.style();
    const lines = wrapLine(paint("dim", oneLine(`· ${text}`)), columns);
    this.#print({ key: `notice ${this.#notices++}`, lines });
  }

  /** Prints what becomes of a text of the user, with the whole text. */
  tellText(what: string, text: string): void {
    const { paint } = this.#options.style();
    const lines = visible(`· ${what}: ${text}`).split("\n");
    this.tellLines(
      lines.map((line, at) => paint("dim", at === 0 ? line : `  ${line}`)),
    );
  }

  /** Prints lines, which are broken to the width of the terminal. */
  tellLines(lines: readonly string[]): void {
    const { columns } = this.#options.style();
    const fitting = lines.flatMap((line) =>
      stringWidth(line) > columns ? wrapLine(line, columns) : [line],
    );
    this.#print({ key: `notice ${this.#notices++}`, lines: fitting });
  }

  /** Prints what the user typed, where no task records it. */
  echo(text: string): void {
    this.tellLines(userLines(textPart(text), this.#options.style()));
  }

  /** Prints why something failed. */
  tellProblem(reason: unknown): void {
    this.tell(userMessage(reason));
  }

  /**
   * Prints in full the latest folded entry that was not printed in full yet.
   */
  showFolded(): void {
    const folded = this.entries.findLast(
      ({ key, whole }) => whole !== undefined && !this.#shownWhole.has(key),
    );
    if (folded) this.#shownWhole.add(folded.key);
    if (folded?.whole) {
      this.tellLines(folded.whole);
    } else {
      this.tell("there is nothing else to show in full");
    }
  }

  #print(...entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    this.entries = [...this.entries, ...entries];
    this.#options.onChange();
  }
}
