import type { Timers } from "../src/chat/question-keys.ts";

/** Timers whose time passes when a test says so. */
export class ManualTimers implements Timers {
  #now = 0;
  readonly #due = new Map<() => void, number>();

  after(ms: number, callback: () => void): () => void {
    this.#due.set(callback, this.#now + ms);
    return () => void this.#due.delete(callback);
  }

  /** Lets time pass, and calls back what is due by then, in order. */
  pass(ms: number): void {
    this.#now += ms;
    const due = [...this.#due]
      .filter(([, at]) => at <= this.#now)
      .toSorted(([, one], [, other]) => one - other);
    for (const [callback] of due) {
      this.#due.delete(callback);
      callback();
    }
  }
}
