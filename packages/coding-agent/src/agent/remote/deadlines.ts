import { Code } from "@devtool/server/agent";
import { ModelFault } from "./model-fault.ts";
import type { ModelTimeouts } from "./remote-options.ts";

/** The abort reason of a request whose answer is not wanted. Never shown. */
const OVER = new ModelFault("the answer is over", Code.Canceled);

/**
 * Watches the time of one attempt. `signal` aborts when the caller's does, when
 * a piece of the answer does not come in time, or when the rest of the answer
 * is left.
 *
 * The time that the consumer of the pieces takes does not count.
 */
export class Deadlines implements Disposable {
  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #caller: AbortSignal;
  readonly #timeouts: ModelTimeouts;
  #timer: NodeJS.Timeout;
  #isWaiting = true;
  #isPast = false;
  #isComplete = false;

  /** Starts the timeout of the first piece. */
  constructor(timeouts: ModelTimeouts, signal: AbortSignal) {
    this.#timeouts = timeouts;
    this.#caller = signal;
    signal.addEventListener("abort", this.#stop);
    if (signal.aborted) this.#stop();
    this.#timer = this.#startTimer("first piece", timeouts.firstByteMs);
  }

  /** Whether a piece did not come in time. */
  get isPast(): boolean {
    return this.#isPast;
  }

  /**
   * Yields the pieces as they come, and restarts the timeout with each of them.
   */
  async *watch<T>(pieces: AsyncIterable<T>): AsyncIterable<T> {
    let isFirst = true;
    for await (const piece of pieces) {
      this.#isWaiting = false;
      yield piece;
      this.#isWaiting = true;
      if (isFirst) {
        clearTimeout(this.#timer);
        this.#timer = this.#startTimer("next piece", this.#timeouts.idleMs);
      } else {
        this.#timer.refresh();
      }
      isFirst = false;
    }
    this.#isComplete = true;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener("abort", this.#stop);
    if (!this.#isComplete) this.#controller.abort(OVER);
  }

  readonly #stop = (): void => this.#controller.abort(this.#caller.reason);

  #startTimer(awaited: string, ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      if (!this.#isWaiting) return;
      const problem = `the ${awaited} of the model's answer did not arrive within ${ms} ms`;
      const remedy = "send the message again";
      this.#isPast = true;
      this.#controller.abort(
        new ModelFault(problem, Code.DeadlineExceeded, {
          remedy,
          retriable: true,
        }),
      );
    }, ms);
  }
}
