import type { AuditRecord, TaskEvent } from "@devtool/schema";
import { failpoint } from "../failpoint.ts";
import type { InboxAnswer } from "../store/task-inbox.ts";
import type { TaskPage, TaskQuery, TaskStore } from "../store/task-store.ts";

/**
 * A task store that reports each durable append to an observer, which posts
 * notifications.
 */
export class ObservedTaskStore implements TaskStore {
  readonly #store: TaskStore;
  #onAppended: (taskId: string) => void = () => undefined;

  constructor(store: TaskStore) {
    this.#store = store;
  }

  /**
   * Sets the observer, which gets the task's id after each durable append.
   * Replaces the previous one.
   */
  observe(onAppended: (taskId: string) => void): void {
    this.#onAppended = onAppended;
  }

  async append(
    events: readonly TaskEvent[],
    audit?: readonly AuditRecord[],
    fence?: bigint,
    answer?: InboxAnswer,
  ): Promise<void> {
    await this.#store.append(events, audit, fence, answer);
    const [first] = events;
    failpoint("devtool:push.wake.before");
    if (first) this.#onAppended(first.taskId);
    failpoint("devtool:push.wake.after");
  }

  readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent> {
    return this.#store.readEvents(taskId, after);
  }

  list(query: TaskQuery): Promise<TaskPage> {
    return this.#store.list(query);
  }

  findLatest(
    principal: string,
    contextId: string,
  ): Promise<TaskEvent | undefined> {
    return this.#store.findLatest(principal, contextId);
  }

  findMessage(
    principal: string,
    messageId: string,
  ): Promise<TaskEvent | undefined> {
    return this.#store.findMessage(principal, messageId);
  }

  readAudit(after: bigint): AsyncIterable<AuditRecord> {
    return this.#store.readAudit(after);
  }

  assertWritable(): Promise<void> {
    return this.#store.assertWritable();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]();
  }
}
