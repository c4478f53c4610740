import type { TaskState } from "@devtool/schema";
import { TaskContent } from "./task-content.ts";

/**
 * The last state of a task that the client knows.
 */
export interface KnownTask {
  readonly id: string;
  readonly contextId: string;
  readonly state: TaskState;
  /**
   * The sequence of its last event that a stream has shown. The client counts
   * events if the agent does not number them.
   */
  readonly sequence: bigint;
  /**
   * The id that its agent gave the last frame of a stream, to resume after it.
   * Undefined if the agent gives none.
   */
  readonly lastEventId?: string | undefined;
}

/**
 * Maximum number of tasks, and of message recipients, to remember. The oldest
 * are dropped.
 */
const MAX_ENTRIES = 1000;

/**
 * Remembers the tasks that a client has received.
 */
export class KnownTasks {
  readonly #tasks = new Map<string, KnownTask>();
  readonly #recipients = new Map<string, KnownTask | undefined>();
  readonly #contents = new Map<string, TaskContent>();

  find(taskId: string): KnownTask | undefined {
    return this.#tasks.get(taskId);
  }

  /**
   * Stores the present form of a task. Its sequence never decreases.
   */
  update(task: KnownTask): void {
    if (task.id === "") return;
    const before = this.#tasks.get(task.id);
    const isOlder = before && task.sequence < before.sequence;
    const { sequence, lastEventId } = isOlder ? before : task;
    store(this.#tasks, task.id, { ...task, sequence, lastEventId });
  }

  /**
   * Returns what was shown of a task. Without an id, of one that nothing was
   * shown of.
   */
  contentOf(taskId: string): TaskContent {
    const content = this.#contents.get(taskId) ?? new TaskContent();
    if (taskId !== "") store(this.#contents, taskId, content);
    return content;
  }

  /**
   * Returns the task as it was when a message was first sent to it. A message
   * that is sent again must have the same content (STREAM-7), even if its task
   * has ended in between.
   */
  recipient(taskId: string, messageId: string): KnownTask | undefined {
    const key = JSON.stringify([taskId, messageId]);
    if (!this.#recipients.has(key)) {
      store(this.#recipients, key, this.find(taskId));
    }
    return this.#recipients.get(key);
  }
}

/**
 * Stores an entry as the newest one, and drops the oldest if there are too
 * many.
 */
function store<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MAX_ENTRIES && oldest !== undefined) map.delete(oldest);
}
