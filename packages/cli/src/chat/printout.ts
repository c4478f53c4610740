import stringWidth from "string-width";
import { userMessage } from "../error-text.ts";
import type { LineStyle } from "../render/style.ts";
import { type ShownTask, textPart } from "./chat-tasks.ts";
import { type Entry, noticeEntry, userLines, wrapLine } from "./entry.ts";

/** Dependencies of `Printout`. */
export interface PrintoutOptions {
  /** Returns how lines are made for the terminal as it is now. */
  readonly style: () => LineStyle;
  /** Called after each entry that was added. */
  readonly onChange: () => void;
}

/** What a chat has printed: the finished parts of its tasks, and lines of the program itself. It only grows. */
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

  /** Prints what has been finished in a task since the last call. */
  advance({ view, scrollback }: ShownTask): void {
    this.#print(...scrollback.advance(view.snapshot(), this.#options.style()));
  }

  /** Prints a line of the program itself. */
  tell(text: string): void {
    this.#print(noticeEntry(this.#nextKey(), `· ${text}`, this.#options.style()));
  }

  /** Prints lines, which are broken to the width of the terminal. */
  tellLines(lines: readonly string[]): void {
    const { columns } = this.#options.style();
    const fitting = lines.flatMap((line) => (stringWidth(line) > columns ? wrapLine(line, columns) : [line]));
    this.#print({ key: this.#nextKey(), lines: fitting });
  }

  /** Prints what the user typed, where no task records it. */
  echo(text: string): void {
    this.tellLines(userLines(textPart(text), this.#options.style()));
  }

  /** Prints why something failed. */
  tellProblem(reason: unknown): void {
    this.tell(userMessage(reason));
  }

  /** Shows in full what was folded last and not shown in full yet. */
  showFolded(): void {
    const folded = this.entries.findLast(({ key, whole }) => whole !== undefined && !this.#shownWhole.has(key));
    if (folded) this.#shownWhole.add(folded.key);
    if (folded?.whole) this.tellLines(folded.whole);
    else this.tell("nothing else was folded");
  }

  #print(...entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    this.entries = [...this.entries, ...entries];
    this.#options.onChange();
  }

  #nextKey(): string {
    return `notice ${this.#notices++}`;
  }
}
