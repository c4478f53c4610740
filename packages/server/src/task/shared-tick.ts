/**
 * The time in milliseconds for which a piece of text waits for those of other
 * tasks. Nothing else about a piece costs as much as its commit, on a store that
 * servers share, and the notification of it.
 */
const TICK_MS = 20;

/**
 * Calls the functions of all tasks at the same moments, so that what they
 * append shares a commit.
 */
export class SharedTick {
  #due = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;

  /** Calls a function soon, unless the result is disposed of before. */
  later(run: () => void): Disposable {
    this.#due.add(run);
    this.#timer ??= setTimeout(() => this.#runAll(), TICK_MS);
    return { [Symbol.dispose]: () => this.#due.delete(run) };
  }

  #runAll(): void {
    this.#timer = undefined;
    const due = this.#due;
    this.#due = new Set();
    for (const run of due) run();
  }
}
