import { ToolCallStatus } from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import type { TaskEvent } from "./gen/devtool/v1alpha/task_event_pb.ts";
import { type Task, TaskState } from "./gen/devtool/v1alpha/task_pb.ts";
import {
  findToolCallDetail,
  isAwaitingApproval,
  openToolCalls,
} from "./tool-call.ts";

/**
 * Returns whether a task has ended. Only another message continues it
 * (STREAM-5).
 */
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

/** Returns whether a task waits for the user. */
export function isInterrupted(state: TaskState): boolean {
  return (
    state === TaskState.INPUT_REQUIRED || state === TaskState.AUTH_REQUIRED
  );
}

/**
 * Returns whether nothing runs in a task: it has ended or waits for the user.
 */
export function isAtRest(state: TaskState): boolean {
  return isTerminal(state) || isInterrupted(state);
}

/**
 * Returns whether an event is the last of its exchange: `final: true` in A2A
 * 0.3 (STREAM-1).
 */
export function endsExchange(event: TaskEvent): boolean {
  const { payload, state } = event;
  switch (payload.case) {
    case "stateChange":
    case "reply":
      return isAtRest(state);
    case "messageQueued":
      // The message is queued behind a question, which its sender may have to
      // answer first.
      return isInterrupted(state);
    default:
      return false;
  }
}

/**
 * Returns the state of a working task, derived from its open calls.
 *
 * The task waits for the user if a call awaits approval and nothing can
 * continue without the answer; otherwise it is working. Calls run in order, so
 * an answered call still waits for an earlier unanswered one. A running call
 * that asks a question waits for its answer.
 */
export function deriveState(task: Task): TaskState {
  const open = openToolCalls(task);
  const asking = open.filter(isAwaitingApproval);
  if (asking.length === 0) return TaskState.WORKING;
  const parents = asking.map(
    ({ toolCallId }) =>
      findToolCallDetail(task, toolCallId)?.parentToolCallId ?? "",
  );
  const waiting = new Set(parents.filter((id) => id !== ""));
  const rest = open.filter(({ toolCallId }) => !waiting.has(toolCallId));
  const running = rest.some(
    ({ status }) => status === ToolCallStatus.EXECUTING,
  );
  const blocked = waiting.size > 0 || rest.slice(0, 1).some(isAwaitingApproval);
  return blocked && !running ? TaskState.INPUT_REQUIRED : TaskState.WORKING;
}
