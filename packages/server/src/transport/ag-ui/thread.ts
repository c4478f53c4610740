import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { emptyTask, GetTaskRequestSchema, ListTasksRequestSchema, type Task, TaskSchema } from "@devtool/schema";
import type { RequestHandler } from "../../handler/request-handler.ts";

/** Returns the task of the caller that changed last in a thread; an empty one for a thread without tasks. */
export async function findThread(handler: RequestHandler, threadId: string, context: HandlerContext): Promise<Task> {
  const request = create(ListTasksRequestSchema, { contextId: threadId, pageSize: 1 });
  const { tasks = [] } = await handler.tasks.listTasks(request, context);
  const taskId = tasks[0]?.id ?? "";
  return taskId === "" ? emptyTask() : readTask(handler, taskId, context);
}

/** Returns a task of the caller. Throws `Code.NotFound` when the caller has none with this id. */
export async function readTask(handler: RequestHandler, taskId: string, context: HandlerContext): Promise<Task> {
  const { task } = await handler.tasks.getTask(create(GetTaskRequestSchema, { taskId }), context);
  return create(TaskSchema, task ?? emptyTask());
}
