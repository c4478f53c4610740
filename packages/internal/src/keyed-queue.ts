/** Runs the work for each key one after the other, in the order of its arrival. */
export class KeyedQueue {
  /** The last work of each key. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs work when all earlier work for its key has ended, however it ended. */
  run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const earlier =
      this.#last.get(key)?.catch(() => undefined) ?? Promise.resolve();
    const running = earlier.then(work);
    this.#last.set(key, running);
    return running.finally(() => {
      if (this.#last.get(key) === running) this.#last.delete(key);
    });
  }
}
