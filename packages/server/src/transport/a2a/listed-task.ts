import { create } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import {
  emptyTask,
  MessageSchema,
  Role,
  type Task,
  type TaskSummary,
} from "@devtool/schema";
import { neededMessages } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import {
  findTask,
  type RequestHandler,
} from "../../handler/request-handler.ts";
import type { MethodCall } from "./method.ts";

/**
 * Returns a task of a list with what the list has of it: no history and no
 * artifacts.
 */
export function summaryTask({ id, contextId, lastEvent }: TaskSummary): Task {
  return {
    ...emptyTask(),
    ...defined({
      id,
      contextId,
      state: lastEvent?.state,
      updateTime: lastEvent?.time,
    }),
  };
}

/**
 * Returns a task of a list with the last messages of its history. For a task whose log is damaged, returns what
 * the list has, with a message that says so: one damaged task must not make the
 * list fail.
 */
export async function listedTask(
  handler: RequestHandler,
  call: Pick<MethodCall, "context">,
  summary: TaskSummary,
  historyLength: number,
): Promise<Task> {
  try {
    return await findTask(handler, call, summary.id, (task) =>
      neededMessages(task, { historyLength }),
    );
  } catch (reason) {
    const { code, message: value } = DevtoolError.from(reason);
    if (code !== Code.DataLoss) throw reason;
    const content = { case: "text", value } as const;
    const messageId = `${summary.id}:damaged`;
    const message = create(MessageSchema, {
      messageId,
      role: Role.AGENT,
      parts: [{ content }],
    });
    return { ...summaryTask(summary), history: [message] };
  }
}
