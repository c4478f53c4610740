import type { TerminalInput } from "../terminal/terminal.ts";

/** Timers, for tests. */
export interface Timers {
  /**
   * Calls back after some milliseconds. Returns a function that prevents this.
   */
  after(ms: number, callback: () => void): () => void;
}

/** Options of `QuestionKeys`. */
interface QuestionKeysOptions {
  readonly timers: Timers;
  /**
   * Called when the question has begun to take answers, which the user must be
   * shown.
   */
  readonly onReady: () => void;
  /** Receives the key that answers. */
  readonly onKey: (key: string) => void;
  /** Receives input that does not answer the question. */
  readonly onAside: (input: TerminalInput) => void;
}

/**
 * Time without a key in milliseconds after which a person is not in the middle
 * of writing.
 */
const QUIET_MS = 500;

/**
 * Time in milliseconds in which another key shows that the first one was part
 * of a paste.
 */
const BURST_MS = 50;

/**
 * The keys of a question, of which one answers.
 *
 * Keys that were pressed before the question was drawn do not answer it, nor
 * does the rest of a message that the user was writing: the question takes an
 * answer after a pause. A paste does not answer, even if the terminal does not
 * mark it: a key counts when no other key than Enter follows at once.
 */
export class QuestionKeys {
  readonly #options: QuestionKeysOptions;
  #state: "undrawn" | "noisy" | "ready" = "undrawn";
  #isQuiet = true;
  /** The keys that may be an answer or a paste. */
  #pending: TerminalInput[] = [];
  #cancelTimer: () => void = () => undefined;

  constructor(options: QuestionKeysOptions) {
    this.#options = options;
  }

  /** Whether the next key answers. */
  get isReady(): boolean {
    return this.#state === "ready";
  }

  /** Whether the terminal has drawn the question. */
  get isDrawn(): boolean {
    return this.#state !== "undrawn";
  }

  /** Records that a key was pressed while there was no question. */
  noteTyping(): void {
    this.#isQuiet = false;
    this.#restart(QUIET_MS, () => this.#quiet());
  }

  /**
   * Begins with another question, which is not drawn yet. Keys that wait are
   * put aside.
   */
  reset(): void {
    this.#putAside();
    this.#state = "undrawn";
  }

  /** Records that the terminal has drawn the question. */
  drawn(): void {
    if (this.#state !== "undrawn") return;
    this.#state = "noisy";
    if (this.#isQuiet) this.#quiet();
  }

  /**
   * Forgets a key that has not answered yet: the user has canceled the turn
   * since, or left.
   */
  forget(): void {
    if (this.#pending.length === 0) return;
    this.#pending = [];
    this.#cancelTimer();
  }

  /** Handles input while the question is shown. */
  take(input: TerminalInput): void {
    if (this.#state !== "ready") {
      this.#options.onAside(input);
      this.noteTyping();
      return;
    }
    const isEnter = input.case === "key" && input.key.name === "return";
    if (this.#pending.length === 0 && isEnter) return;
    this.#pending.push(input);
    const isAnswer =
      this.#pending.length === 1 || (this.#pending.length === 2 && isEnter);
    if (input.case !== "key" || !isAnswer) {
      this.#putAside();
      this.#state = "noisy";
      this.noteTyping();
    } else {
      this.#restart(BURST_MS, () => {
        const [first] = this.#pending;
        this.#pending = [];
        if (first?.case === "key") this.#options.onKey(first.text);
      });
    }
  }

  #quiet(): void {
    this.#isQuiet = true;
    if (this.#state !== "noisy") return;
    this.#state = "ready";
    this.#options.onReady();
  }

  #putAside(): void {
    const pending = this.#pending;
    if (pending.length === 0) return;
    this.#pending = [];
    this.#cancelTimer();
    for (const input of pending) this.#options.onAside(input);
  }

  #restart(ms: number, callback: () => void): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#options.timers.after(ms, callback);
  }
}
