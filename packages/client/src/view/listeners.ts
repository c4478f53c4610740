import type { Schedule } from "./schedule.ts";

/**
 * Notifies the listeners of a view of its changes, at most once for each turn
 * of its schedule.
 */
export class Listeners {
  readonly #schedule: Schedule;
  /**
   * Called before the listeners, with the changes that they are notified of.
   */
  readonly #publish: () => void;
  readonly #listeners = new Map<symbol, () => void>();
  /**
   * The notification that is due. A new one replaces it when `flush` has run
   * early.
   */
  #due: symbol | undefined;

  constructor(schedule: Schedule, publish: () => void) {
    this.#schedule = schedule;
    this.#publish = publish;
  }

  /**
   * Adds a listener, and returns the function that removes it.
   */
  add(listener: () => void): () => void {
    const key = Symbol();
    this.#listeners.set(key, listener);
    return () => void this.#listeners.delete(key);
  }

  /**
   * Records a change. The listeners are notified when the schedule says so.
   */
  change(): void {
    if (this.#due) return;
    const due = Symbol();
    this.#due = due;
    this.#schedule(() => {
      if (this.#due === due) this.flush();
    });
  }

  /**
   * Notifies the listeners now, if there was a change.
   */
  flush(): void {
    if (!this.#due) return;
    this.#due = undefined;
    this.#publish();
    for (const listener of [...this.#listeners.values()]) listener();
  }
}
