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
  readonly #addressees = new Map<string, KnownTask | undefined>();

  find(taskId: string): KnownTask | undefined {
    return this.#tasks.get(taskId);
  }

  /** Notes where a task stands; its sequence never goes back. */
  note(task: KnownTask): void {
    if (task.id === "") return;
    const before = this.#tasks.get(task.id)?.sequence ?? 0n;
    keep(this.#tasks, task.id, { ...task, sequence: task.sequence > before ? task.sequence : before });
  }

  /** A task as it stood when a message was first sent to it: one that is sent again must say the same again (STREAM-7). */
  addressee(taskId: string, messageId: string): KnownTask | undefined {
    const key = JSON.stringify([taskId, messageId]);
    if (!this.#addressees.has(key)) keep(this.#addressees, key, this.find(taskId));
    return this.#addressees.get(key);
  }
}

/** Puts an entry behind all others, and forgets the oldest of too many. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_ENTRIES && oldest !== undefined) map.delete(oldest);
}

const MAX_ENTRIES = 1000;
