import type { Writable } from "node:stream";
import { CLEAR_LINE, type Line, LineEditor } from "./line-editor.ts";
import type { Terminal, TerminalInput } from "./terminal.ts";

/** What a person is asked. */
export interface Question {
  readonly prompt: string;
  /** Whether words are an answer too: then they can be pasted. */
  readonly takesWords: boolean;
}

/** Asks a person what decides something. */
export interface Questioner {
  /** Where the question is shown before it is asked. */
  readonly out: Writable;
  /**
   * Waits for a line that was typed after the terminal had drawn the question. Undefined when the person leaves the
   * question open (Ctrl-D), or when `signal` aborts.
   */
  ask(question: Question, signal: AbortSignal): Promise<Line | undefined>;
  /** Leaves the terminal to another program for as long as `work` takes. */
  lend<T>(work: () => Promise<T>): Promise<T>;
}

/** Where input goes that answers no question. */
export interface Aside {
  take(input: TerminalInput): void;
  /** Says what was put aside, for the person to see. Undefined when there is nothing to say. */
  notice(): string | undefined;
}

/**
 * Asks at a terminal. What was typed or pasted before the question was drawn never answers it, nor does a paste after
 * that, unless it is words: it goes aside, and that is said.
 */
export class TerminalQuestioner implements Questioner {
  readonly out: Writable;
  readonly #terminal: Terminal;
  readonly #aside: Aside;

  constructor(terminal: Terminal, aside: Aside) {
    this.#terminal = terminal;
    this.#aside = aside;
    this.out = terminal.out;
  }

  lend<T>(work: () => Promise<T>): Promise<T> {
    return this.#terminal.lend(work);
  }

  async ask(question: Question, signal: AbortSignal): Promise<Line | undefined> {
    for (;;) {
      if (signal.aborted) return undefined;
      using _held = this.#terminal.hold();
      using editor = new LineEditor({ out: this.out });
      const line = await this.#read(editor, question, signal);
      const more = editor.rest;
      if (line === undefined || more === "") return line;
      // A terminal that cannot mark a paste sends all its lines at once, as nobody types.
      this.#aside.take({ case: "paste", text: `${line.text}\n${more}` });
    }
  }

  /** Shows the question, puts aside what comes before the terminal has drawn it, and reads what comes after. */
  async #read(editor: LineEditor, question: Question, signal: AbortSignal): Promise<Line | undefined> {
    const early: TerminalInput[] = [];
    const drawn = Promise.withResolvers<Promise<Line | undefined>>();
    const before = this.#terminal.listen((input) => void early.push(input));
    this.out.write(question.prompt);
    this.#terminal.whenDrawn(() => {
      this.#putAside(editor, early);
      this.#terminal.listen((input) => this.#answer(editor, question, input));
      drawn.resolve(editor.read(question.prompt, signal));
    });
    try {
      return await drawn.promise;
    } finally {
      this.#terminal.listen(before);
    }
  }

  #answer(editor: LineEditor, { takesWords }: Question, input: TerminalInput): void {
    if (input.case === "end" || (input.case === "paste" && !takesWords)) this.#putAside(editor, [input]);
    else editor.take(input);
  }

  #putAside(editor: LineEditor, inputs: readonly TerminalInput[]): void {
    if (inputs.length > 0) this.out.write(CLEAR_LINE);
    for (const input of inputs) this.#aside.take(input);
    if (inputs.some((input) => input.case === "end")) editor.take({ case: "end" });
    const notice = this.#aside.notice();
    if (notice !== undefined) editor.tell(notice);
  }
}
