import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext } from "@connectrpc/connect";
import { emptyTask, GetTaskRequestSchema, ListTasksRequestSchema, type Task, TaskSchema } from "@devtool/schema";
import type { RequestHandler } from "../../handler/request-handler.ts";

/** Returns the id of the first task of a thread of a principal: the same at each server, so that a store has one such task. */
export function firstTaskId(principal: string, threadId: string): string {
  return createHash("sha256")
    .update(JSON.stringify([principal, threadId]))
    .digest("hex")
    .slice(0, 32);
}

/** Returns the task of the caller that changed last in a thread; an empty one for a thread without tasks. */
export async function findThread(handler: RequestHandler, threadId: string, context: HandlerContext): Promise<Task> {
  const request = create(ListTasksRequestSchema, { contextId: threadId, pageSize: 1 });
  const { tasks = [] } = await handler.tasks.listTasks(request, context);
  const taskId = tasks[0]?.id ?? "";
  return taskId === "" ? emptyTask() : readTask(handler, taskId, context);
}

/** Maximum number of tasks of a thread that are shown, besides the last one. */
const MAX_EARLIER = 100;

/** Returns the tasks of a thread before its last one, oldest first: up to 100. */
export async function earlierTasks(handler: RequestHandler, last: Task, context: HandlerContext): Promise<Task[]> {
  const request = create(ListTasksRequestSchema, { contextId: last.contextId, pageSize: MAX_EARLIER });
  const { tasks = [] } = await handler.tasks.listTasks(request, context);
  const ids = tasks.flatMap(({ id = "" }) => (id === last.id ? [] : [id]));
  const earlier = await Promise.all(ids.map((id) => readTask(handler, id, context)));
  const created = earlier.map((task) => ({ task, ms: task.createTime ? timestampMs(task.createTime) : 0 }));
  return created.sort((one, other) => one.ms - other.ms).map(({ task }) => task);
}

/** Returns a task of the caller. Throws `Code.NotFound` when the caller has none with this id. */
async function readTask(handler: RequestHandler, taskId: string, context: HandlerContext): Promise<Task> {
  const { task } = await handler.tasks.getTask(create(GetTaskRequestSchema, { taskId }), context);
  return create(TaskSchema, task ?? emptyTask());
}
