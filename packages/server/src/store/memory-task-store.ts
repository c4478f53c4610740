import type { TaskEvent } from "@devtool/schema";
import { assertFollows } from "./assert-follows.ts";
import { messageIdOf } from "./message-id.ts";
import type { TaskPage, TaskQuery, TaskStore } from "./task-store.ts";

/** Keeps all logs in memory: for tests, and for servers whose tasks may end with the process. */
export class MemoryTaskStore implements TaskStore {
  readonly #logs = new Map<string, TaskEvent[]>();
  readonly #messages = new Map<string, TaskEvent>();

  append(events: readonly TaskEvent[]): Promise<void> {
    const [first] = events;
    if (!first) return Promise.resolve();
    const log = this.#logs.get(first.taskId) ?? [];
    try {
      assertFollows(first, log.at(-1)?.sequence ?? 0n);
    } catch (reason) {
      return Promise.reject(reason);
    }
    log.push(...events);
    this.#logs.set(first.taskId, log);
    for (const event of events) this.#index(event, principalOf(log));
    return Promise.resolve();
  }

  async *readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent> {
    yield* this.#logs.get(taskId)?.slice(Number(after)) ?? [];
  }

  list({ principal, contextId, state, limit, cursor }: TaskQuery): Promise<TaskPage> {
    const tasks = [...this.#logs.values()]
      .filter((log) => principal === undefined || principalOf(log) === principal)
      .flatMap((log) => log.at(-1) ?? [])
      .filter((last) => contextId === undefined || last.contextId === contextId)
      .filter((last) => state === undefined || last.state === state)
      .filter((last) => cursor === undefined || orderOf(last) < cursor)
      .sort((one, other) => (orderOf(one) < orderOf(other) ? 1 : -1));
    const page = tasks.slice(0, limit);
    const last = page.at(-1);
    return Promise.resolve({ tasks: page, cursor: tasks.length > limit && last ? orderOf(last) : undefined });
  }

  findMessage(principal: string, messageId: string): Promise<TaskEvent | undefined> {
    return Promise.resolve(this.#messages.get(JSON.stringify([principal, messageId])));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve();
  }

  #index(event: TaskEvent, principal: string): void {
    const messageId = messageIdOf(event);
    if (messageId !== undefined) this.#messages.set(JSON.stringify([principal, messageId]), event);
  }
}

function principalOf(log: readonly TaskEvent[]): string {
  const opened = log[0]?.payload;
  return opened?.case === "created" ? opened.value.principal : "";
}

/** Sorts tasks by the time of their last event, ties by id; later ones come after earlier ones. */
function orderOf({ time, taskId }: TaskEvent): string {
  const seconds = (time?.seconds ?? 0n).toString().padStart(16, "0");
  return `${seconds}.${(time?.nanos ?? 0).toString().padStart(9, "0")} ${taskId}`;
}
