import { type CompleterResult, createInterface, type Interface } from "node:readline";
import { PassThrough, Writable } from "node:stream";
import type { TerminalInput } from "./terminal.ts";

/** Clears the line that the cursor is in, and goes to its beginning. */
export const CLEAR_LINE = "\r\u001b[K";

/** Options of a line editor. */
export interface LineEditorOptions {
  /** Where the line is shown while it is asked for. */
  readonly out: Writable & { readonly columns?: number };
  /** What Tab makes of a line. Default: nothing. */
  readonly complete?: (line: string) => CompleterResult;
  /** Takes a line that is ended with Enter while none is asked for; it waits. */
  readonly onQueued?: (line: string) => void;
}

/** A line that was ended with Enter. */
export interface Line {
  readonly text: string;
  /** Whether a part of it was pasted. */
  readonly isPasted: boolean;
}

/**
 * A line that a person types. It takes keys at any time and shows itself only while a line is asked for: what is typed in
 * between waits, as a draft or, ended with Enter, as a whole line. Several pasted lines are one word of it, which stands
 * for them.
 */
export class LineEditor implements Disposable {
  readonly #readline: Interface;
  readonly #options: LineEditorOptions;
  readonly #queue: Line[] = [];
  /** The texts of several lines that were pasted, by the words that stand for them. */
  readonly #pastes = new Map<string, string>();
  #isPasted = false;
  #waiting: ((line: Line | undefined) => void) | undefined;
  #isEnded = false;

  constructor(options: LineEditorOptions) {
    this.#options = options;
    this.#readline = createInterface({
      input: new PassThrough(),
      output: shownWhile(() => this.#waiting !== undefined, options.out),
      completer: options.complete ?? ((line: string): CompleterResult => [[], line]),
      terminal: true,
    });
    this.#readline.on("line", (line) => this.#entered(line));
    this.#readline.on("close", () => this.#end());
  }

  /** What waits to be read, the draft last; empty once the editor has ended. */
  get rest(): string {
    if (this.#isEnded) return "";
    return [...this.#queue.map(({ text }) => text), this.draft].join("\n").trim();
  }

  /** What was typed and not ended with Enter. */
  get draft(): string {
    return this.#expanded(this.#readline.line);
  }

  /** Takes what a person does. */
  take(input: TerminalInput): void {
    if (this.#isEnded) return;
    if (input.case === "key") this.#readline.write(input.text, input.key);
    else if (input.case === "paste") this.insert(input.text);
    else if (input.case === "back") this.#show();
    else this.#readline.close();
  }

  /** Puts a text into the line, as a paste does. */
  insert(text: string): void {
    const lines = linesOf(text);
    this.#isPasted = true;
    const pasted = lines.join("\n");
    const label = lines.length === 1 ? pasted : `[paste ${this.#pastes.size + 1}: ${lines.length} lines]`;
    if (lines.length > 1) this.#pastes.set(label, pasted);
    this.#readline.write(label);
  }

  /** Gives the first line that waits, or asks for one. Undefined when no more come, or when `signal` aborts. */
  read(prompt: string, signal: AbortSignal): Promise<Line | undefined> {
    const queued = this.#queue.shift();
    if (queued) this.#options.out.write(`${prompt}${queued.text}\n`);
    if (queued || this.#isEnded || signal.aborted) return Promise.resolve(queued);
    const { promise, resolve } = Promise.withResolvers<Line | undefined>();
    const withdraw = (): void => this.#give(undefined);
    this.#waiting = (line) => {
      signal.removeEventListener("abort", withdraw);
      resolve(line);
    };
    signal.addEventListener("abort", withdraw, { once: true });
    this.#readline.setPrompt(prompt);
    this.#readline.prompt(true);
    return promise;
  }

  /** Shows a notice above the line that is asked for. */
  tell(notice: string): void {
    this.#options.out.write(`${CLEAR_LINE}${notice}\n`);
    this.#show();
  }

  [Symbol.dispose](): void {
    this.#readline.close();
  }

  #show(): void {
    if (this.#waiting) this.#readline.prompt(true);
  }

  #entered(typed: string): void {
    const line = { text: this.#expanded(typed.trim()), isPasted: this.#isPasted };
    this.#isPasted = false;
    if (this.#waiting) {
      this.#give(line);
    } else if (line.text !== "") {
      this.#queue.push(line);
      this.#options.onQueued?.(line.text);
    }
  }

  #give(line: Line | undefined): void {
    const take = this.#waiting;
    this.#waiting = undefined;
    take?.(line);
  }

  #end(): void {
    this.#isEnded = true;
    this.#give(undefined);
  }

  #expanded(line: string): string {
    return [...this.#pastes].reduce((text, [label, pasted]) => text.replaceAll(label, () => pasted), line);
  }
}

/** The lines of a pasted text, without empty ones at its end and without what would move the cursor. */
function linesOf(text: string): string[] {
  return text
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/(?![\n\t])\p{Cc}/gu, "")
    .replace(/\n+$/, "")
    .split("\n");
}

/** Passes on what is written while it is to be shown, and drops it otherwise; then it has no width either. */
function shownWhile(isShown: () => boolean, out: LineEditorOptions["out"]): Writable {
  const shown = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      if (isShown()) out.write(chunk);
      done();
    },
  });
  Object.defineProperty(shown, "columns", { get: () => (isShown() ? out.columns : undefined) });
  return shown;
}
