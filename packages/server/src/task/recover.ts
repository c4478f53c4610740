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
  type ToolCall,
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
  /** A call was executing and its outcome is unknown. The entries record that, and the user decides. */
  | { readonly case: "interrupt"; readonly entries: readonly LogEntry[] };

/**
 * Returns how a task continues after the server stopped.
 *
 * A call that was awaiting approval still awaits it. An approved call that had not started runs. A call
 * that was executing becomes FAILED with `interrupted`, and never runs again by itself.
 */
export function recoverTask(task: Task): Recovery {
  if (isTerminal(task.state)) return { case: "rest" };
  if (task.state === TaskState.SUBMITTED) return { case: "resume" };
  const open = openToolCalls(task);
  const lost = open.some((call) => isLost(task, call));
  if (isInterrupted(task.state) && !lost) return { case: "rest" };
  const approved = open.some((call) => !isAwaitingApproval(call));
  if (!lost && approved) return { case: "resume" };
  return { case: "interrupt", entries: interruptEntries(task, open) };
}

/** Whether the outcome of a call is unknown: it was executing, and is not an edit, whose outcome is in the file. */
function isLost(task: Task, call: ToolCall): boolean {
  if (isQuestionOfCall(task, call.toolCallId)) return true;
  return call.status === ToolCallStatus.EXECUTING && !findToolCallDetail(task, call.toolCallId)?.edit;
}

function interruptEntries(task: Task, open: readonly ToolCall[]): LogEntry[] {
  const ended = open.filter((call) => !isAwaitingApproval(call) || isQuestionOfCall(task, call.toolCallId));
  const openCalls = open.filter((call) => !ended.includes(call));
  const updates = ended.map((call) => ({ call: interruptedCall(call) }));
  const asks = openCalls.length > 0;
  const entries = callEntries(task, updates);
  // The session continues with the first queued message.
  if (!asks && task.queuedMessages.length > 0) return entries;
  return [...entries, stateEntry(TaskState.INPUT_REQUIRED, { openCalls, text: asks ? "" : REASON })];
}

const REASON = "The server stopped while the agent was working. Send a message to go on.";

/** Creates the notice for a task whose turn was interrupted and that continues with a queued message. */
export function cutTurnNotice(): LogEntry {
  const text = "The server stopped while the agent was working. It goes on with the message that waits.";
  return { payload: { case: "notice", value: create(NoticeSchema, { text }) } };
}

/** Returns a call as a stop of the server leaves it: FAILED with `interrupted`, with the output that it had shown. */
function interruptedCall({ confirmationRequest: _closed, ...call }: ToolCall): ToolCall {
  const message =
    call.status === ToolCallStatus.EXECUTING
      ? "the server stopped while the call ran: its outcome is unknown, and it was not run again"
      : "the server stopped before the call began: it did not run";
  const error = toolFailure("interrupted", message);
  return { ...call, status: ToolCallStatus.FAILED, result: { case: "error", value: error } };
}
