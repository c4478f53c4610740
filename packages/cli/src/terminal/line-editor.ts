import {
  type CompleterResult,
  createInterface,
  type Interface,
} from "node:readline";
import { PassThrough, Writable } from "node:stream";
import { CLEAR_LINE, type TerminalInput } from "./terminal.ts";

/** Options of `LineEditor`. */
interface LineEditorOptions {
  /** The stream that the line is shown on while it is asked for. */
  readonly out: Writable & { readonly columns?: number };
  /** Completes a line when Tab is pressed. Default: no completion. */
  readonly complete?: (line: string) => CompleterResult;
  /**
   * Receives each line that is entered while none is asked for. It waits in a
   * queue.
   */
  readonly onQueued?: (line: string) => void;
}

/** A line that the user entered. */
export interface Line {
  readonly text: string;
  /** Whether any part of it was pasted. */
  readonly isPasted: boolean;
}

/**
 * Edits a line of input.
 *
 * Accepts keys at any time, and shows the line only while one is asked for.
 * Input from in between is kept as a draft, or as a queued line after Enter.
 * Several pasted lines are shown as one word, such as `[paste 1: 30 lines]`.
 */
export class LineEditor implements Disposable {
  readonly #readline: Interface;
  readonly #options: LineEditorOptions;
  readonly #queue: Line[] = [];
  /** Pasted texts of several lines, by the words that are shown for them. */
  readonly #pastes = new Map<string, string>();
  #isPasted = false;
  #waiting: ((line: Line | undefined) => void) | undefined;
  #isEnded = false;

  constructor(options: LineEditorOptions) {
    this.#options = options;
    this.#readline = createInterface({
      input: new PassThrough(),
      output: outputWhile(() => this.#waiting !== undefined, options.out),
      completer:
        options.complete ?? ((line: string): CompleterResult => [[], line]),
      terminal: true,
    });
    this.#readline.on("line", (typed) => {
      const line = {
        text: this.#expandPastes(typed.trim()),
        isPasted: this.#isPasted,
      };
      this.#isPasted = false;
      if (this.#waiting) {
        this.#give(line);
      } else if (line.text !== "") {
        this.#queue.push(line);
        this.#options.onQueued?.(line.text);
      }
    });
    this.#readline.on("close", () => {
      this.#isEnded = true;
      this.#give(undefined);
    });
  }

  /** The stream that the line is shown on. */
  get out(): Writable {
    return this.#options.out;
  }

  /** The unread input, the draft last; empty once the editor has ended. */
  get rest(): string {
    if (this.#isEnded) return "";
    return [...this.#queue.map(({ text }) => text), this.draft]
      .join("\n")
      .trim();
  }

  /** The line that is being typed. */
  get draft(): string {
    return this.#expandPastes(this.#readline.line);
  }

  /** Handles input of the terminal. */
  take(input: TerminalInput): void {
    if (this.#isEnded) return;
    if (input.case === "key") {
      this.#readline.write(input.text, input.key);
    } else if (input.case === "paste") {
      this.insert(input.text);
    } else if (input.case === "back") {
      this.#show();
    } else {
      this.#readline.close();
    }
  }

  /**
   * Inserts a text into the line, as a paste: without control characters, and
   * without empty lines at its end.
   */
  insert(text: string): void {
    this.#isPasted = true;
    const pasted = text
      .replaceAll(/\r\n?/g, "\n")
      .replaceAll(/(?![\n\t])\p{Cc}/gu, "")
      .replace(/\n+$/, "");
    const lines = pasted.split("\n");
    const label =
      lines.length === 1
        ? pasted
        : `[paste ${this.#pastes.size + 1}: ${lines.length} lines]`;
    if (lines.length > 1) this.#pastes.set(label, pasted);
    this.#readline.write(label);
  }

  /** Empties the line. Returns whether there was anything in it. */
  clear(): boolean {
    if (this.#isEnded || this.#readline.line === "") return false;
    // These delete what stands before the cursor, and behind it.
    this.#readline.write(null, { ctrl: true, name: "u" });
    this.#readline.write(null, { ctrl: true, name: "k" });
    this.#isPasted = false;
    return true;
  }

  /**
   * Returns the first queued line, or asks for one. Undefined at the end of the
   * input, or when `signal` aborts.
   */
  read(prompt: string, signal: AbortSignal): Promise<Line | undefined> {
    const queued = this.#queue.shift();
    if (queued) this.#options.out.write(`${prompt}${queued.text}\n`);
    if (queued || this.#isEnded || signal.aborted) {
      return Promise.resolve(queued);
    }
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

  /** Prints a notice above the input line. */
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

  #give(line: Line | undefined): void {
    const take = this.#waiting;
    this.#waiting = undefined;
    take?.(line);
  }

  #expandPastes(line: string): string {
    return [...this.#pastes].reduce(
      (text, [label, pasted]) => text.replaceAll(label, () => pasted),
      line,
    );
  }
}

/**
 * Returns a stream that passes on what is written while `isShown`, and
 * otherwise drops it and has no width.
 */
function outputWhile(
  isShown: () => boolean,
  out: LineEditorOptions["out"],
): Writable {
  const shown = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      if (isShown()) out.write(chunk);
      done();
    },
  });
  Object.defineProperty(shown, "columns", {
    get: () => (isShown() ? out.columns : undefined),
  });
  return shown;
}
