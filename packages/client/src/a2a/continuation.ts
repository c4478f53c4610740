import { isTerminal, type SendMessageRequest } from "@devtool/schema";
import type { KnownTask } from "./known-tasks.ts";

/**
 * How a message is sent to a task, where one that has ended is closed, as it is in A2A (1.0, section 3.4) but for the RFC:
 * the conversation goes on in a new task that refers to it (STREAM-5). Our server takes a message to the old one as that,
 * others refuse it.
 */
export function continuation(request: SendMessageRequest, task: KnownTask | undefined): SendMessageRequest {
  const { message } = request;
  if (!message || !task || !isTerminal(task.state)) return request;
  const referenceTaskIds = [...new Set([...message.referenceTaskIds, task.id])];
  return { ...request, taskId: "", contextId: task.contextId, message: { ...message, referenceTaskIds } };
}
