/** So many tasks are remembered unless a receiver says otherwise. */
const MAX_TASKS = 10_000;

/**
 * Remembers how far each task's notifications were taken. They come in order, so one number per task tells an event that
 * came before: a retry of the server, or a replay. The longest unused tasks are forgotten first.
 */
export class SeenEvents {
  readonly #last = new Map<string, bigint>();
  readonly #maxTasks: number;

  constructor(maxTasks: number = MAX_TASKS) {
    this.#maxTasks = maxTasks;
  }

  /** Notes an event; false when it, or a later one of its task, was noted before. */
  note(source: string, sequence: bigint): boolean {
    const last = this.#last.get(source) ?? 0n;
    this.#last.delete(source);
    this.#last.set(source, sequence > last ? sequence : last);
    if (this.#last.size > this.#maxTasks) this.#forgetOldest();
    return sequence > last;
  }

  /** Takes a note back, so that the next try of an event that could not be dealt with counts. */
  forget(source: string, sequence: bigint): void {
    if (this.#last.get(source) === sequence) this.#last.set(source, sequence - 1n);
  }

  #forgetOldest(): void {
    const [oldest] = this.#last.keys();
    if (oldest !== undefined) this.#last.delete(oldest);
  }
}
