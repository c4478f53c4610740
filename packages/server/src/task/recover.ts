import { create } from "@bufbuild/protobuf";
import {
  findToolCallDetail,
  isAwaitingApproval,
  isInterrupted,
  isQuestionOfCall,
  isTerminal,
  NoticeSchema,
  openToolCalls,
  type Task,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import { toolFailure } from "../agent/failure.ts";
import { callEntries } from "./call-entry.ts";
import type { LogEntry } from "./event-log.ts";
import { stateEntry } from "./turn-entries.ts";

/** How a task continues that a stop of the server interrupted. */
export type Recovery =
  /** The task waits for its user or has ended. */
  | { readonly case: "rest" }
  /** No call was executing, so the agent is started again. */
  | { readonly case: "resume" }
  /**
   * A call was executing and its outcome is unknown. The entries record that,
   * and the user decides.
   */
  | { readonly case: "interrupt"; readonly entries: readonly LogEntry[] };

/**
 * Returns how a task continues after the server stopped.
 *
 * A call that was awaiting approval still awaits it. An approved call that had
 * not started runs. A call that was executing becomes FAILED with
 * `interrupted`, and never runs again by itself.
 */
export function recoverTask(task: Task): Recovery {
  if (isTerminal(task.state)) return { case: "rest" };
  if (task.state === TaskState.SUBMITTED) return { case: "resume" };
  const open = openToolCalls(task);
  // The outcome of an executing call is unknown. An edit's is in the file, and
  // a call that asks a question has started.
  const isLost = open.some(
    (call) =>
      isQuestionOfCall(task, call.toolCallId) ||
      (call.status === ToolCallStatus.EXECUTING &&
        !findToolCallDetail(task, call.toolCallId)?.edit),
  );
  if (isInterrupted(task.state) && !isLost) return { case: "rest" };
  const isApproved = open.some((call) => !isAwaitingApproval(call));
  if (!isLost && isApproved) return { case: "resume" };
  const ended = open.filter(
    (call) =>
      !isAwaitingApproval(call) || isQuestionOfCall(task, call.toolCallId),
  );
  const openCalls = open.filter((call) => !ended.includes(call));
  const updates = ended.map(({ confirmationRequest: _closed, ...call }) => {
    const wasExecuting = call.status === ToolCallStatus.EXECUTING;
    const value = toolFailure(
      "interrupted",
      wasExecuting ? OUTCOME_UNKNOWN : NOT_STARTED,
    );
    return {
      call: {
        ...call,
        status: ToolCallStatus.FAILED,
        result: { case: "error" as const, value },
      },
    };
  });
  const asks = openCalls.length > 0;
  const entries = callEntries(task, updates);
  // The session continues with the first queued message.
  if (!asks && task.queuedMessages.length > 0) {
    return { case: "interrupt", entries };
  }
  const waiting = stateEntry(TaskState.INPUT_REQUIRED, {
    openCalls,
    text: asks ? "" : REASON,
  });
  return { case: "interrupt", entries: [...entries, waiting] };
}

const OUTCOME_UNKNOWN =
  "the server stopped while the call ran: its outcome is unknown, and it was not run again";
const NOT_STARTED = "the server stopped before the call began: it did not run";
const REASON =
  "The server stopped while the agent was working. Send a message to go on.";

/**
 * Creates the notice for a task whose turn was interrupted and that continues
 * with a queued message.
 */
export function cutTurnNotice(): LogEntry {
  const text =
    "The server stopped while the agent was working. It continues with the queued message.";
  return { payload: { case: "notice", value: create(NoticeSchema, { text }) } };
}
