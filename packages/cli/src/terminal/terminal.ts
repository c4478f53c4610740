import { once } from "node:events";
import { createInterface, emitKeypressEvents, type Key } from "node:readline";
import { PassThrough, Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { type Io, isTerminal } from "../io.ts";

/**
 * Terminal input: a key, a pasted text, the return to the program (`fg`), or
 * the end of the input.
 */
export type TerminalInput =
  | { readonly case: "key"; readonly text: string; readonly key: Key }
  | { readonly case: "paste"; readonly text: string }
  | { readonly case: "back" }
  | { readonly case: "end" };

/** Receives the input of a terminal. */
type InputListener = (input: TerminalInput) => void;

/** Clears the current line and moves the cursor to its beginning. */
export const CLEAR_LINE = "\r\u001b[K";

/**
 * Turns bracketed paste on and off: the terminal then marks the beginning and
 * the end of a paste.
 */
const PASTE_MODE = { on: "\u001b[?2004h", off: "\u001b[?2004l" } as const;

/**
 * Asks the terminal for its status (DSR). The answer follows every key that was
 * pressed before the terminal drew the preceding output.
 */
const STATUS_REQUEST = "\u001b[5n";
const STATUS_REPORT = "\u001b[0n";

/**
 * Time in milliseconds after which a key that begins like a sequence of
 * characters was Esc alone. Node waits ten times as long.
 */
const ESCAPE_MS = 50;

/** Timeout of a status request in milliseconds. */
const REPORT_TIMEOUT_MS = 500;

/**
 * The user's terminal.
 *
 * While it is held it is in raw mode: keys arrive one by one, Ctrl-C included,
 * and a paste arrives as a whole. Its settings are restored however the process
 * ends.
 */
export class Terminal {
  /**
   * The stream for questions and prompts: standard output, or standard error
   * when only that is a terminal.
   */
  readonly out: Writable;
  /** Whether it knows no escape sequences (`TERM=dumb`): a line stays as it is. */
  readonly isDumb: boolean;
  /**
   * Wraps the time in which Ctrl-Z has stopped the process, so that what was
   * drawn can be removed before and drawn again after.
   */
  aroundStop: (stop: () => Promise<void>) => void = (stop) => void stop();
  readonly #io: Io;
  #listener: InputListener = () => undefined;
  #holders = 0;
  /** The text of an unfinished paste. */
  #paste: string | undefined;
  /** Callbacks for the next status reports, in order. */
  readonly #reports: (() => void)[] = [];

  constructor(io: Io) {
    this.#io = io;
    const { stdout, stderr } = io;
    const out = !isTerminal(stdout) && isTerminal(stderr) ? stderr : stdout;
    this.isDumb = io.env.TERM === "dumb";
    this.out = this.isDumb ? withoutSequences(out) : out;
  }

  /** Replaces the listener for input; returns the previous one. */
  listen(listener: InputListener): InputListener {
    const before = this.#listener;
    this.#listener = listener;
    return before;
  }

  /** Puts the terminal into raw mode until the result is disposed of. */
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

  /**
   * Gives the terminal with its original settings to another program while
   * `work` runs.
   */
  async lend<T>(work: () => Promise<T>): Promise<T> {
    if (this.#holders > 0) this.#release();
    try {
      return await work();
    } finally {
      if (this.#holders > 0) this.#take();
    }
  }

  /**
   * Calls back once the terminal has drawn everything written to it. By then
   * all input from before has been received.
   *
   * For a terminal that does not report its status, calls back after
   * {@link REPORT_TIMEOUT_MS}.
   */
  whenDrawn(callback: () => void): void {
    const timer = setTimeout(callOnce, REPORT_TIMEOUT_MS);
    let isCalled = false;
    function callOnce(): void {
      clearTimeout(timer);
      if (!isCalled) callback();
      isCalled = true;
    }
    if (this.isDumb) return;
    this.#reports.push(callOnce);
    this.out.write(STATUS_REQUEST);
  }

  #take(): void {
    const { stdin } = this.#io;
    // Of the interface, only the timeout is used.
    emitKeypressEvents(
      stdin,
      createInterface({
        input: new PassThrough(),
        escapeCodeTimeout: ESCAPE_MS,
      }),
    );
    stdin.on("keypress", this.#onKey);
    stdin.once("end", this.#onEnd).once("error", this.#onEnd);
    process
      .once("exit", this.#restore)
      .once("SIGTERM", this.#onSignal)
      .once("SIGHUP", this.#onSignal);
    this.#prepare();
    stdin.resume();
    if (stdin.readableEnded) queueMicrotask(this.#onEnd);
  }

  #release(): void {
    const { stdin } = this.#io;
    stdin
      .off("keypress", this.#onKey)
      .off("end", this.#onEnd)
      .off("error", this.#onEnd);
    process
      .off("exit", this.#restore)
      .off("SIGTERM", this.#onSignal)
      .off("SIGHUP", this.#onSignal);
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

  /** Restores the terminal, then ends the process with the signal. */
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
    } else if (ctrl && name === "z" && process.platform !== "win32") {
      this.aroundStop(async () => {
        this.#restore();
        const continued = once(process, "SIGCONT");
        process.kill(0, "SIGTSTP");
        await continued;
        this.#prepare();
        this.#listener({ case: "back" });
      });
    } else {
      this.#listener({ case: "key", text: text ?? "", key });
    }
  };
}

/**
 * Returns a stream that passes on to another what is no escape sequence, and
 * begins a new line in place of clearing one.
 */
function withoutSequences(out: Writable): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      const text = String(chunk).replaceAll(CLEAR_LINE, "\n");
      out.write(stripVTControlCharacters(text), done);
    },
  });
}

function setRawMode(stdin: Io["stdin"], mode: "raw" | "cooked"): void {
  if ("setRawMode" in stdin && typeof stdin.setRawMode === "function") {
    stdin.setRawMode(mode === "raw");
  }
}
