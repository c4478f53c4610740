import { ToolCallStatus } from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import type { TaskEvent } from "./gen/devtool/v1alpha/task_event_pb.ts";
import { type Task, TaskState } from "./gen/devtool/v1alpha/task_pb.ts";
import { isAwaitingApproval, openToolCalls } from "./tool-call.ts";

/** Tells whether a task has ended; only a further message wakes it (STREAM-5). */
export function isTerminal(state: TaskState): boolean {
  switch (state) {
    case TaskState.COMPLETED:
    case TaskState.FAILED:
    case TaskState.CANCELED:
    case TaskState.REJECTED:
      return true;
    default:
      return false;
  }
}

/** Tells whether a task waits for the user. */
export function isInterrupted(state: TaskState): boolean {
  return state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED;
}

/** Tells whether an event is the last of its exchange: `final: true` in A2A 0.3 (STREAM-1). */
export function endsExchange(event: TaskEvent): boolean {
  return event.payload.case === "stateChange" && (isTerminal(event.state) || isInterrupted(event.state));
}

/**
 * The state that a task at work is in, by its open calls: it waits for the user once a call awaits approval and nothing
 * can go on without the answer; otherwise it is working. Calls run in order, so one that was answered still waits
 * behind one that was not.
 */
export function deriveState(task: Task): TaskState {
  const open = openToolCalls(task);
  const asked = open.findIndex(isAwaitingApproval);
  const running = open.some((call) => call.status === ToolCallStatus.EXECUTING);
  return asked === 0 && !running ? TaskState.INPUT_REQUIRED : TaskState.WORKING;
}
