import { emptyTask, isTerminal, type Task } from "@devtool/schema";
import type { TaskQuery, TaskStore } from "../store/task-store.ts";
import { type HistoryNeed, TaskHead } from "./task-head.ts";

/**
 * Reads a task from its log. Undefined when the store has no task with this id.
 */
export async function readTask(
  store: TaskStore,
  taskId: string,
): Promise<Task | undefined> {
  return (await readHead(store, taskId, "all"))?.task;
}

/**
 * Reads a task as far as it is kept in memory. Undefined when the store has no
 * task with this id.
 */
export async function readHead(
  store: TaskStore,
  taskId: string,
  need: HistoryNeed,
): Promise<TaskHead | undefined> {
  const head = new TaskHead(emptyTask(), need);
  for await (const event of store.readEvents(taskId, 0n)) head.add(event);
  const { sequence, state } = head;
  if (sequence === 0n) return undefined;
  if (isTerminal(state)) return head;
  // Only a task that has ended is deleted: this one may be half of it.
  for await (const _last of store.readEvents(taskId, sequence - 1n))
    return head;
  return undefined;
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
