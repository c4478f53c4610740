import type { TaskEvent } from "@devtool/schema";

/**
 * The maximum number of events that wait for a slow reader in memory. It reads
 * more from the store.
 */
const MAX_NEWS = 64;

/** The events that notifications brought and a reader has not taken yet. */
export class LogNews {
  #events: TaskEvent[] = [];
  /** Whether the store has events that were not brought, as at the beginning. */
  #isIncomplete = true;

  /** Adds what a notification brought: no events when it carries none. */
  put(events: readonly TaskEvent[] = []): void {
    // What is durable by now is read from the store with the others.
    if (this.#isIncomplete) return;
    this.#events.push(...events);
    this.#isIncomplete = events.length === 0 || this.#events.length > MAX_NEWS;
  }

  /**
   * Takes the events after a sequence. Undefined when they must be read from
   * the store.
   */
  take(after: bigint): readonly TaskEvent[] | undefined {
    const events = this.#events.filter(({ sequence }) => sequence > after);
    const isComplete =
      !this.#isIncomplete &&
      events.every(({ sequence }, at) => sequence === after + BigInt(at) + 1n);
    this.#events = [];
    this.#isIncomplete = false;
    return isComplete ? events : undefined;
  }
}
