/** The sequence of the last event that came of each task: where an agent numbers nothing, counting goes on from there. */
export class Heads {
  readonly #sequences = new Map<string, bigint>();

  /** 0 for a task of which nothing came. */
  of(taskId: string): bigint {
    return this.#sequences.get(taskId) ?? 0n;
  }

  note(taskId: string, sequence: bigint): void {
    if (sequence <= this.of(taskId)) return;
    this.#sequences.delete(taskId);
    this.#sequences.set(taskId, sequence);
    const [oldest] = this.#sequences.keys();
    if (this.#sequences.size > MAX_TASKS && oldest !== undefined) this.#sequences.delete(oldest);
  }
}

const MAX_TASKS = 1000;
