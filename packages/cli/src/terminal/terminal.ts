import { emitKeypressEvents, type Key } from "node:readline";
import type { Writable } from "node:stream";
import { type Io, personStream } from "../io.ts";

/** What a person does at a terminal: presses a key, pastes a text, comes back to the program (`fg`), or hangs up. */
export type TerminalInput =
  | { readonly case: "key"; readonly text: string; readonly key: Key }
  | { readonly case: "paste"; readonly text: string }
  | { readonly case: "back" }
  | { readonly case: "end" };

/** Takes the input of a terminal. */
export type InputListener = (input: TerminalInput) => void;

/** Asks the terminal to send a paste as one, between two marks (bracketed paste), or to stop that. */
const PASTE_MODE = { on: "\u001b[?2004h", off: "\u001b[?2004l" } as const;

/** Asks the terminal for its status (DSR); the answer comes behind every key that was pressed before it drew what was written. */
const STATUS_REQUEST = "\u001b[5n";
const STATUS_REPORT = "\u001b[0n";

/** How long a terminal that answers no status request is waited for. */
const REPORT_TIMEOUT_MS = 500;

/**
 * The terminal that a person sits at. While it is held it is in raw mode: keys come one by one, Ctrl-C among them, and a
 * paste comes as a whole. Whoever ends, however it ends, leaves the terminal as it was.
 */
export class Terminal {
  /** Where questions and prompts are written, also while standard output goes to a file. */
  readonly out: Writable;
  readonly #io: Io;
  #listener: InputListener = () => undefined;
  #holders = 0;
  /** The paste that has begun and not ended. */
  #paste: string | undefined;
  /** Whom the next status reports are for, in order. */
  readonly #reports: (() => void)[] = [];

  constructor(io: Io) {
    this.#io = io;
    this.out = personStream(io);
  }

  /** Takes the input from now on, in place of the listener before; returns that one. */
  listen(listener: InputListener): InputListener {
    const before = this.#listener;
    this.#listener = listener;
    return before;
  }

  /** Holds the terminal until the result is disposed of. */
  hold(): Disposable {
    if (this.#holders++ === 0) this.#take();
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld && --this.#holders === 0) this.#release();
        isHeld = false;
      },
    };
  }

  /** Leaves the terminal, as it was before it was held, to another program for as long as `work` takes. */
  async lend<T>(work: () => Promise<T>): Promise<T> {
    if (this.#holders > 0) this.#release();
    try {
      return await work();
    } finally {
      if (this.#holders > 0) this.#take();
    }
  }

  /**
   * Calls back once the terminal has drawn what was written to it: what was typed before comes before, also what is still
   * on its way. A terminal that does not answer is waited for {@link REPORT_TIMEOUT_MS}.
   */
  whenDrawn(callback: () => void): void {
    const timer = setTimeout(once, REPORT_TIMEOUT_MS);
    let isCalled = false;
    function once(): void {
      clearTimeout(timer);
      if (!isCalled) callback();
      isCalled = true;
    }
    if (this.#io.env.TERM === "dumb") return;
    this.#reports.push(once);
    this.out.write(STATUS_REQUEST);
  }

  #take(): void {
    const { stdin } = this.#io;
    emitKeypressEvents(stdin);
    stdin.on("keypress", this.#onKey);
    stdin.once("end", this.#onEnd).once("error", this.#onEnd);
    process.once("exit", this.#restore).once("SIGTERM", this.#onSignal).once("SIGHUP", this.#onSignal);
    this.#prepare();
    stdin.resume();
    if (stdin.readableEnded) queueMicrotask(this.#onEnd);
  }

  #release(): void {
    const { stdin } = this.#io;
    stdin.off("keypress", this.#onKey).off("end", this.#onEnd).off("error", this.#onEnd);
    process.off("exit", this.#restore).off("SIGTERM", this.#onSignal).off("SIGHUP", this.#onSignal);
    stdin.pause();
    this.#restore();
  }

  #prepare(): void {
    setRawMode(this.#io.stdin, "raw");
    this.out.write(PASTE_MODE.on);
  }

  readonly #restore = (): void => {
    this.out.write(PASTE_MODE.off);
    setRawMode(this.#io.stdin, "cooked");
  };

  /** Ends as the signal would have, but with the terminal as it was. */
  readonly #onSignal = (signal: NodeJS.Signals): void => {
    this.#release();
    process.kill(process.pid, signal);
  };

  readonly #onEnd = (): void => this.#listener({ case: "end" });

  readonly #onKey = (text: string | undefined, key: Key): void => {
    const { name, sequence = "", ctrl } = key;
    if (name === "paste-start") {
      this.#paste = "";
    } else if (name === "paste-end") {
      const pasted = this.#paste ?? "";
      this.#paste = undefined;
      this.#listener({ case: "paste", text: pasted });
    } else if (this.#paste !== undefined) {
      this.#paste += sequence;
    } else if (sequence === STATUS_REPORT) {
      this.#reports.shift()?.();
    } else if (ctrl && name === "c") {
      this.#io.interrupt();
    } else if (ctrl && name === "z") {
      this.#stop();
    } else {
      this.#listener({ case: "key", text: text ?? "", key });
    }
  };

  /** Ctrl-Z: gives the terminal back to the shell until it says to go on. */
  #stop(): void {
    this.#restore();
    process.once("SIGCONT", () => {
      this.#prepare();
      this.#listener({ case: "back" });
    });
    process.kill(0, "SIGTSTP");
  }
}

function setRawMode(stdin: Io["stdin"], mode: "raw" | "cooked"): void {
  if ("setRawMode" in stdin && typeof stdin.setRawMode === "function") stdin.setRawMode(mode === "raw");
}
