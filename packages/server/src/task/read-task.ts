import { emptyTask, reduceTask, type Task } from "@devtool/schema";
import type { TaskQuery, TaskStore } from "../store/task-store.ts";

/**
 * Reads a task from its log. Undefined when the store has no task with this id.
 */
export async function readTask(
  store: TaskStore,
  taskId: string,
): Promise<Task | undefined> {
  let task = emptyTask();
  for await (const event of store.readEvents(taskId, 0n)) {
    task = reduceTask(task, event);
  }
  return task.sequence === 0n ? undefined : task;
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
