import {
  emptyTask,
  reduceTask,
  type Task,
  type TaskState,
} from "@devtool/schema";
import type { TaskStore } from "../store/task-store.ts";

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

/** Returns the ids of all stored tasks in a state. */
export async function listTaskIds(
  store: TaskStore,
  state: TaskState,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ state, limit: 100, cursor });
    ids.push(...page.tasks.map(({ last }) => last.taskId));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return ids;
}
