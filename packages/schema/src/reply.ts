import {
  type Message,
  Role,
  type Task,
  TaskState,
} from "./gen/devtool/v1alpha/task_pb.ts";

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
