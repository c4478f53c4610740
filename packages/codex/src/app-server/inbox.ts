import { setTimeout as delay } from "node:timers/promises";

/** A queue of messages in the order of their arrival, with one reader. */
export class Inbox<T> {
  readonly #items: T[] = [];
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  /** The number of messages that have not been read. */
  get size(): number {
    return this.#items.length;
  }

  push(item: T): void {
    this.#items.push(item);
    this.#wake?.();
  }

  /**
   * Ends the queue: the reader gets the messages that are left, then the error.
   */
  fail(error: Error): void {
    this.#failure ??= error;
    this.#wake?.();
  }

  /**
   * Returns the next message. Undefined when none arrives within a time in
   * milliseconds.
   *
   * Rejects with the reason of the signal, or with the error of `fail` when no
   * message is left.
   */
  async next(
    timeMs: number | undefined,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    signal.throwIfAborted();
    if (this.#items.length === 0 && !this.#failure) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = new AbortController();
      this.#wake = resolve;
      signal.addEventListener("abort", () => resolve(), {
        once: true,
        signal: timer.signal,
      });
      const timeout =
        timeMs === undefined
          ? []
          : [delay(timeMs, undefined, { signal: timer.signal })];
      try {
        await Promise.race([promise, ...timeout]);
      } finally {
        this.#wake = undefined;
        timer.abort();
        for (const ended of timeout) ended.catch(() => undefined);
      }
    }
    signal.throwIfAborted();
    const item = this.#items.shift();
    if (item === undefined && this.#failure) throw this.#failure;
    return item;
  }
}
