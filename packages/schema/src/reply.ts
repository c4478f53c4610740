import { type Message, Role, type Task, TaskState } from "./gen/devtool/v1alpha/task_pb.ts";

/** The message that is the whole answer of a task; undefined for one that is answered with itself, or did not get there. */
export function replyOf({ replyOnly, state, history }: Task): Message | undefined {
  const last = history.at(-1);
  return replyOnly && state === TaskState.COMPLETED && last?.role === Role.AGENT ? last : undefined;
}
