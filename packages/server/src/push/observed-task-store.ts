import type { AuditRecord, TaskEvent } from "@devtool/schema";
import type { TaskPage, TaskQuery, TaskStore } from "../store/task-store.ts";

/** A task store that tells of each append when it is durable: how notifications learn that there is something to post. */
export class ObservedTaskStore implements TaskStore {
  readonly #store: TaskStore;
  readonly #onAppended: (taskId: string) => void;

  constructor(store: TaskStore, onAppended: (taskId: string) => void) {
    this.#store = store;
    this.#onAppended = onAppended;
  }

  async append(events: readonly TaskEvent[], audit?: readonly AuditRecord[]): Promise<void> {
    await this.#store.append(events, audit);
    const [first] = events;
    if (first) this.#onAppended(first.taskId);
  }

  readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent> {
    return this.#store.readEvents(taskId, after);
  }

  list(query: TaskQuery): Promise<TaskPage> {
    return this.#store.list(query);
  }

  findMessage(principal: string, messageId: string): Promise<TaskEvent | undefined> {
    return this.#store.findMessage(principal, messageId);
  }

  readAudit(after: bigint): AsyncIterable<AuditRecord> {
    return this.#store.readAudit(after);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]();
  }
}
