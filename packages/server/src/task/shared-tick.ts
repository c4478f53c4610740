/**
 * The least time in milliseconds between two ticks, for which a piece of text
 * waits at most. Nothing else about a piece costs as much as its commit, on a
 * store that servers share, and the notification of it.
 */
const TICK_MS = 50;

/**
 * Calls the functions of all tasks at the same moments, so that what they
 * append shares a commit.
 */
export class SharedTick {
  #due = new Set<() => void>();
  #timer: NodeJS.Timeout | undefined;
  /** When the next tick may be, on the monotonic clock. */
  #nextMs = 0;

  /**
   * Calls a function at the next tick, which is at once after a pause, unless
   * the result is disposed of before.
   */
  later(run: () => void): Disposable {
    this.#due.add(run);
    const waitMs = Math.max(0, this.#nextMs - performance.now());
    this.#timer ??= setTimeout(() => this.#runAll(), waitMs);
    return { [Symbol.dispose]: () => this.#due.delete(run) };
  }

  #runAll(): void {
    this.#timer = undefined;
    this.#nextMs = performance.now() + TICK_MS;
    const due = this.#due;
    this.#due = new Set();
    for (const run of due) run();
  }
}
