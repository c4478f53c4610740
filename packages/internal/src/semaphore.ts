import { abortable } from "./abortable.ts";

/**
 * Limits how many holders do something at the same time. The others wait in the
 * order in which they came.
 *
 * ```ts
 * using _turn = await semaphore.acquire(signal);
 * ```
 */
export class Semaphore {
  readonly #limit: () => number;
  #held = 0;
  readonly #waiting: PromiseWithResolvers<void>[] = [];

  /**
   * @param limit the maximum number of holders, or a function that returns it.
   * When the result of the function has grown, call `advance`.
   */
  constructor(limit: number | (() => number)) {
    this.#limit = typeof limit === "number" ? () => limit : limit;
  }

  /** Whether a holder waits for a turn. */
  get isWanted(): boolean {
    return this.#waiting.length > 0;
  }

  /** Whether nothing holds a turn or waits for one. */
  get isIdle(): boolean {
    return this.#held === 0 && !this.isWanted;
  }

  /** Takes a turn if one is free. Disposing of the result ends the turn. */
  tryAcquire(): Disposable | undefined {
    if (this.isWanted || this.#held >= this.#limit()) return undefined;
    this.#held++;
    return { [Symbol.dispose]: () => this.#release() };
  }

  /**
   * Waits for a turn. Disposing of the result ends the turn. Rejects with the
   * signal's reason when the signal aborts first.
   */
  async acquire(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    const free = this.tryAcquire();
    if (free) return free;
    const next = Promise.withResolvers<void>();
    this.#waiting.push(next);
    try {
      await abortable(next.promise, signal);
      return { [Symbol.dispose]: () => this.#release() };
    } catch (reason) {
      const at = this.#waiting.indexOf(next);
      // No longer waiting: the turn was assigned before the signal aborted, and
      // passes on.
      if (at < 0) {
        this.#release();
      } else {
        this.#waiting.splice(at, 1);
      }
      throw reason;
    }
  }

  /** Assigns the free turns to waiting holders. */
  advance(): void {
    while (this.#held < this.#limit()) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#held++;
      next.resolve();
    }
  }

  #release(): void {
    this.#held--;
    this.advance();
  }
}
