/**
 * Remembers the last notification accepted for each task, so that duplicates
 * are recognized.
 *
 * The notifications of a task arrive in order, so one sequence per task is
 * enough to recognize a retry or a replayed post. Keep one instance for the
 * life of the receiver. If there are too many tasks, those unused for the
 * longest time are dropped.
 */
export class SeenEvents {
  readonly #lastSequences = new Map<string, bigint>();
  readonly #maxTasks: number;

  /**
   * `maxTasks` is the maximum number of tasks to remember. Default: 10,000.
   */
  constructor(maxTasks: number = 10_000) {
    this.#maxTasks = maxTasks;
  }

  /**
   * Records an event of a task. Returns false for a duplicate: this event, or a
   * later one of the same task, was recorded before.
   *
   * `source` identifies the task among all servers.
   */
  note(source: string, sequence: bigint): boolean {
    const last = this.#lastSequences.get(source) ?? 0n;
    this.#lastSequences.delete(source);
    this.#lastSequences.set(source, sequence > last ? sequence : last);
    const [oldest] = this.#lastSequences.keys();
    if (this.#lastSequences.size > this.#maxTasks && oldest !== undefined) {
      this.#lastSequences.delete(oldest);
    }
    return sequence > last;
  }

  /**
   * Removes the record of an event that could not be processed, so that its
   * retry is not taken for a duplicate. Does nothing if a later event was
   * recorded.
   */
  forget(source: string, sequence: bigint): void {
    if (this.#lastSequences.get(source) === sequence) {
      this.#lastSequences.set(source, sequence - 1n);
    }
  }
}
