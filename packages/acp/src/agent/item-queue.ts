import { setTimeout as delay } from "node:timers/promises";
import { abortable } from "@devtool/server/agent";

/**
 * The number of waiting items at which the agent has to wait: each may be as
 * large as a message.
 */
const MAX_WAITING = 32;

/**
 * A queue in memory with one reader. Items come out in the order in which they
 * were put in.
 */
export class ItemQueue<Item> {
  readonly #items: Item[] = [];
  #wake: (() => void) | undefined;
  /** Resolves the promise of `room`. */
  #free: (() => void) | undefined;

  put(item: Item): void {
    this.#items.push(item);
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
   * Takes the next item, and waits until there is one. Rejects with the
   * signal's reason when the signal aborts.
   */
  async take(signal: AbortSignal): Promise<Item> {
    for (;;) {
      signal.throwIfAborted();
      const item = this.#items.shift();
      if (this.#items.length < MAX_WAITING) this.#free?.();
      if (item !== undefined) return item;
      await abortable(
        new Promise<void>((resolve) => (this.#wake = resolve)),
        signal,
      );
    }
  }

  /**
   * Waits until there is an item, at most for a time in milliseconds. Returns
   * the item without taking it.
   */
  async peek(timeMs: number, signal: AbortSignal): Promise<Item | undefined> {
    if (this.#items.length === 0) {
      const timer = new AbortController();
      const arrived = new Promise<void>((resolve) => (this.#wake = resolve));
      const late = delay(timeMs, undefined, { signal: timer.signal }).catch(
        () => undefined,
      );
      await abortable(Promise.race([arrived, late]), signal).finally(() =>
        timer.abort(),
      );
    }
    return this.#items[0];
  }
}
