import { emptyTask, reduceTask, type Task } from "@devtool/schema";
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
