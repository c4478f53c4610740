import { setTimeout as delay } from "node:timers/promises";
import { abortable } from "./abortable.ts";

/**
 * The number of waiting items at which the sender has to wait: each may be as
 * large as a message.
 */
const MAX_WAITING = 32;

/**
 * A queue in memory of what a program sends, with one reader. Items come out in
 * the order in which they were put in.
 */
export class Arrivals<Item> {
  readonly #items: Item[] = [];
  #failure: Error | undefined;
  #wake: (() => void) | undefined;
  /** Resolves the promise of `room`. */
  #free: (() => void) | undefined;

  /** The number of items that nobody has taken. */
  get size(): number {
    return this.#items.length;
  }

  put(item: Item): void {
    this.#items.push(item);
    this.#wake?.();
  }

  /** Ends the queue: the reader gets the items that are left, then the error. */
  fail(error: Error): void {
    this.#failure ??= error;
    this.#wake?.();
  }

  /** Resolves when few enough items wait that more should be read. */
  async room(): Promise<void> {
    if (this.#items.length >= MAX_WAITING) {
      await new Promise<void>((resolve) => (this.#free = resolve));
    }
  }

  /** Forgets the items. Nobody takes any more. */
  abandon(): void {
    this.#items.length = 0;
    this.#free?.();
  }

  /**
   * Takes the next item, and waits until there is one. Rejects with the error
   * of `fail` when none is left, and with the signal's reason when the signal
   * aborts.
   */
  async take(signal: AbortSignal): Promise<Item> {
    for (;;) {
      const item = await this.takeWithin(undefined, signal);
      if (item !== undefined) return item;
    }
  }

  /**
   * As `take`, but returns undefined when no item comes within a time in
   * milliseconds.
   */
  async takeWithin(
    timeMs: number | undefined,
    signal: AbortSignal,
  ): Promise<Item | undefined> {
    await this.peek(timeMs, signal);
    const item = this.#items.shift();
    if (this.#items.length < MAX_WAITING) this.#free?.();
    return item;
  }

  /**
   * Waits until there is an item, at most for a time in milliseconds, and
   * returns it without taking it. Rejects as `take` does.
   */
  async peek(
    timeMs: number | undefined,
    signal: AbortSignal,
  ): Promise<Item | undefined> {
    signal.throwIfAborted();
    if (this.#items.length === 0 && !this.#failure) {
      const timer = new AbortController();
      const arrived = new Promise<void>((resolve) => (this.#wake = resolve));
      const late =
        timeMs === undefined
          ? []
          : [
              delay(timeMs, undefined, { signal: timer.signal }).catch(
                () => undefined,
              ),
            ];
      await abortable(Promise.race([arrived, ...late]), signal).finally(() =>
        timer.abort(),
      );
    }
    if (this.#items.length === 0 && this.#failure) throw this.#failure;
    return this.#items[0];
  }
}
