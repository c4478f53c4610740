import {
  type Message,
  Role,
  type Task,
  TaskState,
} from "./gen/devtool/v1alpha/task_pb.ts";
import { awaitedToolCalls, confirmationsOf, hasToolCall } from "./tool-call.ts";

/**
 * Returns the part of a task's history that belongs to the exchange of a
 * message (STREAM-9).
 *
 * It starts at that message. If the message answers tool calls, or the task
 * waits for answers to some, it starts at the step that made them, if that is
 * earlier. A message that is queued or was withdrawn is not in the history.
 */
export function exchangeHistory(task: Task, messageId: string): Message[] {
  const { history, queuedMessages } = task;
  const isQueued = queuedMessages.some(
    ({ message }) => message?.messageId === messageId,
  );
  const index = history.findLastIndex(
    (message) => message.role === Role.USER && message.messageId === messageId,
  );
  const sentAt = isQueued || index < 0 ? history.length : index;
  const sent = history[sentAt];
  const calls = [
    ...(sent ? confirmationsOf(sent) : []),
    ...awaitedToolCalls(task),
  ];
  const steps = calls.map(({ toolCallId }) =>
    history.findLastIndex((message) => hasToolCall(message, toolCallId)),
  );
  return history.slice(Math.min(sentAt, ...steps.filter((step) => step >= 0)));
}

/**
 * Returns the message that is the whole response of a task. Undefined if the
 * task responds with itself, or has not completed.
 */
export function replyOf({
  replyOnly,
  state,
  history,
}: Task): Message | undefined {
  const last = history.at(-1);
  return replyOnly && state === TaskState.COMPLETED && last?.role === Role.AGENT
    ? last
    : undefined;
}
