import { PassThrough, type Writable } from "node:stream";
import { type Line, LineEditor } from "./line-editor.ts";
import { CLEAR_LINE, type Terminal, type TerminalInput } from "./terminal.ts";

/** A question to the user. */
interface LineQuestion {
  readonly prompt: string;
  /** Whether the answer may be any text, also a pasted one. */
  readonly takesWords: boolean;
  /** Whether what is typed is not shown. Default: it is. */
  readonly isSecret?: boolean;
}

/** Asks the user for decisions. */
export interface Questioner {
  /** The stream that questions are printed on. */
  readonly out: Writable;
  /**
   * Waits for a line that was typed after the terminal had drawn the question.
   *
   * Undefined when the user leaves the question open (Ctrl-D), or when `signal`
   * aborts.
   */
  ask(question: LineQuestion, signal: AbortSignal): Promise<Line | undefined>;
  /** Gives the terminal to another program while `work` runs. */
  lend<T>(work: () => Promise<T>): Promise<T>;
}

/** Receives input that does not answer a question. */
export interface Aside {
  take(input: TerminalInput): void;
  /**
   * Returns a notice about that input for the user; undefined when there is
   * none.
   */
  notice(): string | undefined;
}

/**
 * Asks at a terminal.
 *
 * Input from before the question was drawn never answers it. Neither does a
 * later paste, unless the question takes text. Such input is put aside, and the
 * user is told.
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

  async ask(
    question: LineQuestion,
    signal: AbortSignal,
  ): Promise<Line | undefined> {
    for (;;) {
      if (signal.aborted) return undefined;
      using _held = this.#terminal.hold();
      const out = question.isSecret ? new PassThrough().resume() : this.out;
      using editor = new LineEditor({ out });
      const line = await this.#read(editor, question, signal);
      const more = editor.rest;
      // What follows is not printed behind the prompt.
      if (line === undefined || question.isSecret) this.out.write("\n");
      if (line === undefined || more === "") return line;
      // Several lines at once are a paste in a terminal without bracketed
      // paste.
      this.#aside.take({ case: "paste", text: `${line.text}\n${more}` });
    }
  }

  /**
   * Prints the question, puts aside input from before the terminal has drawn
   * it, and reads the answer.
   */
  async #read(
    editor: LineEditor,
    question: LineQuestion,
    signal: AbortSignal,
  ): Promise<Line | undefined> {
    const early: TerminalInput[] = [];
    const drawn = Promise.withResolvers<Promise<Line | undefined>>();
    const before = this.#terminal.listen((input) => void early.push(input));
    // The editor prints the prompt again, over this one where that is possible.
    if (!this.#terminal.isDumb) this.out.write(question.prompt);
    this.#terminal.whenDrawn(() => {
      this.#putAside(editor, early);
      this.#terminal.listen((input) => {
        const isAnswer =
          input.case !== "end" &&
          (input.case !== "paste" || question.takesWords);
        if (isAnswer) {
          editor.take(input);
        } else {
          this.#putAside(editor, [input]);
        }
      });
      drawn.resolve(editor.read(question.prompt, signal));
    });
    try {
      return await drawn.promise;
    } finally {
      this.#terminal.listen(before);
    }
  }

  #putAside(editor: LineEditor, inputs: readonly TerminalInput[]): void {
    if (inputs.length > 0) editor.out.write(CLEAR_LINE);
    for (const input of inputs) this.#aside.take(input);
    if (inputs.some((input) => input.case === "end")) {
      editor.take({ case: "end" });
    }
    const notice = this.#aside.notice();
    if (notice !== undefined) editor.tell(notice);
  }
}
