import type { TaskState } from "@devtool/schema";
import type { TaskStore } from "../store/task-store.ts";

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
