import { createHash } from "node:crypto";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import { emptyTask, type Task } from "@devtool/schema";
import {
  findTask,
  type RequestHandler,
} from "../../handler/request-handler.ts";

/**
 * Returns the id of the first task of a thread of a principal: the same at each
 * server, so that a store has one such task.
 */
export function firstTaskId(principal: string, threadId: string): string {
  return createHash("sha256")
    .update(JSON.stringify([principal, threadId]))
    .digest("hex")
    .slice(0, 32);
}

/**
 * Returns the task of the caller that changed last in a thread; an empty one
 * for a thread without tasks.
 */
export async function findThread(
  handler: RequestHandler,
  threadId: string,
  context: HandlerContext,
): Promise<Task> {
  const { tasks } = await handler.tasks.listTasks(
    { contextId: threadId, pageSize: 1 },
    context,
  );
  const taskId = tasks[0]?.id ?? "";
  return taskId === "" ? emptyTask() : findTask(handler, { context }, taskId);
}

/** Maximum number of tasks of a thread that are shown, besides the last one. */
const MAX_EARLIER = 100;

/**
 * Returns the tasks of a thread before its last one, oldest first: up to 100.
 */
export async function earlierTasks(
  handler: RequestHandler,
  last: Task,
  context: HandlerContext,
): Promise<Task[]> {
  const { tasks } = await handler.tasks.listTasks(
    { contextId: last.contextId, pageSize: MAX_EARLIER },
    context,
  );
  const ids = tasks.flatMap(({ id }) => (id === last.id ? [] : [id]));
  const earlier = await Promise.all(
    ids.map((id) => findTask(handler, { context }, id)),
  );
  const created = earlier.map((task) => ({
    task,
    ms: task.createTime ? timestampMs(task.createTime) : 0,
  }));
  return created
    .sort((one, other) => one.ms - other.ms)
    .map(({ task }) => task);
}
