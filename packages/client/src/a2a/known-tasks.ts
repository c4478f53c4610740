import type { TaskState } from "@devtool/schema";

/** Where a task stands, as far as this client was told. */
export interface KnownTask {
  readonly id: string;
  readonly contextId: string;
  readonly state: TaskState;
  /** The sequence of its last event; counted, where the agent numbers nothing. */
  readonly sequence: bigint;
}

/** The tasks that a client was told of, the newest. */
export class KnownTasks {
  readonly #tasks = new Map<string, KnownTask>();

  find(taskId: string): KnownTask | undefined {
    return this.#tasks.get(taskId);
  }

  /** Notes where a task stands; its sequence never goes back. */
  note(task: KnownTask): void {
    if (task.id === "") return;
    const before = this.#tasks.get(task.id)?.sequence ?? 0n;
    this.#tasks.delete(task.id);
    this.#tasks.set(task.id, { ...task, sequence: task.sequence > before ? task.sequence : before });
    const [oldest] = this.#tasks.keys();
    if (this.#tasks.size > MAX_TASKS && oldest !== undefined) this.#tasks.delete(oldest);
  }
}

const MAX_TASKS = 1000;
