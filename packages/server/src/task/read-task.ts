import { emptyTask, isTerminal, type Task } from "@devtool/schema";
import { Code, hasCode } from "../errors.ts";
import type { TaskQuery, TaskStore } from "../store/task-store.ts";
import { readContent } from "./task-content.ts";
import { type HistoryNeed, TaskHead } from "./task-head.ts";

/**
 * Reads a task from its log, with the content that is needed of its history.
 * Undefined when the store has no task with this id.
 *
 * @param need default: all
 * @param last the sequence of the last event to read. Default: the end of the log
 */
export async function readTask(
  store: TaskStore,
  taskId: string,
  need: HistoryNeed = "all",
  last?: bigint,
): Promise<Task | undefined> {
  const head =
    last === undefined
      ? await readHead(store, taskId, need)
      : await readHeadUntil(store, taskId, need, last);
  if (!head || head.hasNeeded) return head?.task;
  const { neededMessages: messages, sequence: until } = head;
  return readContent(store, head, { messages, until }).catch((reason) => {
    if (hasCode(reason, Code.NotFound)) return undefined;
    throw reason;
  });
}

/**
 * Reads a task as far as it is kept in memory: of a long one, the head that the
 * store keeps and the events after it. Undefined when the store has no task with
 * this id.
 *
 * @param need what `TaskHead.hasNeeded` is to go by; a head that the store keeps
 * has no content
 */
export async function readHead(
  store: TaskStore,
  taskId: string,
  need: HistoryNeed,
): Promise<TaskHead | undefined> {
  const head = await beginHead(store, taskId, need);
  for await (const event of store.readEvents(taskId, head.sequence)) {
    head.add(event);
  }
  const { sequence, state } = head;
  if (sequence === 0n) return undefined;
  if (isTerminal(state)) return head;
  // Only a task that has ended is deleted: this one may be half of it.
  for await (const _last of store.readEvents(taskId, sequence - 1n))
    return head;
  return undefined;
}

/**
 * Reads a task as it was after an event. Undefined when the store has no such
 * event.
 */
async function readHeadUntil(
  store: TaskStore,
  taskId: string,
  need: HistoryNeed,
  last: bigint,
): Promise<TaskHead | undefined> {
  const head = await beginHead(store, taskId, need, last);
  if (head.sequence < last) {
    for await (const event of store.readEvents(taskId, head.sequence)) {
      head.add(event);
      if (event.sequence === last) break;
    }
  }
  // A head may be left of a log that is being deleted.
  const isWhole = head.sequence === last && (await isStored(store, taskId));
  return isWhole ? head : undefined;
}

/** Whether the store has a task. */
export async function isStored(
  store: TaskStore,
  taskId: string,
): Promise<boolean> {
  for await (const _first of store.readEvents(taskId, 0n)) return true;
  return false;
}

/**
 * Returns the head from which a task is folded on: the one that the store keeps,
 * or that of a task without events.
 *
 * @param until the sequence of the last event to fold. Default: the last one of
 * the log
 */
export async function beginHead(
  store: TaskStore,
  taskId: string,
  need: HistoryNeed,
  until?: bigint,
): Promise<TaskHead> {
  const data = need === "all" ? undefined : await store.readHead(taskId);
  const head = data && TaskHead.from(data, need);
  const isLater = until !== undefined && head && head.sequence > until;
  return head && !isLater ? head : new TaskHead(emptyTask(), need);
}

/**
 * Yields the ids of the stored tasks that match a query, the last changed
 * first. Reads them page by page: a task that changes meanwhile may be left
 * out.
 */
export async function* listTaskIds(
  store: TaskStore,
  query: Omit<TaskQuery, "limit" | "cursor">,
): AsyncIterable<string> {
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...query, limit: 100, cursor });
    yield* page.tasks.map(({ last }) => last.taskId);
    cursor = page.cursor;
  } while (cursor !== undefined);
}
