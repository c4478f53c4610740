import { Code } from "@devtool/server/agent";
import { GeminiFault } from "./gemini-fault.ts";
import type { GeminiTimeouts } from "./gemini-options.ts";

/** Aborts what still listens when a try is over; never shown. */
const OVER = new GeminiFault("the answer is over", Code.Canceled);

/**
 * Watches one try: aborts `signal` when the caller's aborts, and when a piece of the answer does not come in time.
 * The time that the reader of the answer takes does not count.
 */
export class Deadlines implements Disposable {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #timeouts: GeminiTimeouts;
  #timer: NodeJS.Timeout;
  #waiting = true;

  constructor(timeouts: GeminiTimeouts, signal: AbortSignal) {
    this.#timeouts = timeouts;
    this.signal = AbortSignal.any([signal, this.#controller.signal]);
    this.#timer = setTimeout(() => this.#expire("first piece", timeouts.firstByteMs), timeouts.firstByteMs);
  }

  /** Yields the pieces as they come. */
  async *watch<T>(pieces: AsyncIterable<T>): AsyncIterable<T> {
    let first = true;
    for await (const piece of pieces) {
      this.#waiting = false;
      yield piece;
      this.#waiting = true;
      if (first) this.#watchIdle();
      else this.#timer.refresh();
      first = false;
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#controller.abort(OVER);
  }

  #watchIdle(): void {
    const { idleMs } = this.#timeouts;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#expire("next piece", idleMs), idleMs);
  }

  #expire(what: string, ms: number): void {
    if (!this.#waiting) return;
    const problem = `the ${what} of the model's answer did not come in ${ms} ms`;
    const remedy = "send the message again";
    this.#controller.abort(new GeminiFault(problem, Code.DeadlineExceeded, { remedy, retriable: true }));
  }
}
