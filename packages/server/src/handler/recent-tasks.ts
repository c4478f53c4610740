/** What is known of the tasks that changed last, up to a number of them. */
export class RecentTasks<Known> {
  readonly #max: number;
  /** By their ids, the one that changed last at the end. */
  readonly #tasks = new Map<string, Known>();

  constructor(max: number) {
    this.#max = max;
  }

  /** Returns what is known of a task; undefined for nothing. */
  get(taskId: string): Known | undefined {
    return this.#tasks.get(taskId);
  }

  /**
   * Notes what is known of a task that changed. Where there are too many,
   * forgets the one that has not changed for longest, and returns what was known
   * of it.
   */
  note(taskId: string, known: Known): Known | undefined {
    this.#tasks.delete(taskId);
    this.#tasks.set(taskId, known);
    const [oldest] = this.#tasks;
    if (this.#tasks.size <= this.#max || !oldest) return undefined;
    this.#tasks.delete(oldest[0]);
    return oldest[1];
  }
}
