import { type Message, Role, type Task } from "./gen/devtool/v1alpha/task_pb.ts";
import { awaitedToolCalls, confirmationsOf, hasToolCall } from "./tool-call.ts";

/**
 * Returns the part of a task's history that belongs to the exchange of a message (STREAM-9): from that message on, or from
 * the step that made the calls which the message answers or the task waits for, if that comes earlier. A message that
 * waits in the queue, or was withdrawn, is not in the history.
 */
export function exchangeHistory(task: Task, messageId: string): Message[] {
  const { history } = task;
  const sentAt = indexOfMessage(task, messageId);
  const sent = history[sentAt];
  const calls = [...(sent ? confirmationsOf(sent) : []), ...awaitedToolCalls(task)];
  const steps = calls.map(({ toolCallId }) => history.findLastIndex((message) => hasToolCall(message, toolCallId)));
  return history.slice(Math.min(sentAt, ...steps.filter((index) => index >= 0)));
}

/** The index of a client's message; the length of the history when it is not there. */
function indexOfMessage({ history, queuedMessages }: Task, messageId: string): number {
  const isQueued = queuedMessages.some(({ message }) => message?.messageId === messageId);
  if (isQueued) return history.length;
  const index = history.findLastIndex((message) => message.role === Role.USER && message.messageId === messageId);
  return index < 0 ? history.length : index;
}
