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

/** How a task goes on that a stop of the server cut. */
export type Recovery =
  /** It waits for its user, or has ended: there is nothing to do. */
  | { readonly case: "rest" }
  /** Nothing had begun that could run twice: it goes on by itself. */
  | { readonly case: "resume" }
  /** Something had begun and its outcome is unknown: these entries say so, and the user decides. */
  | { readonly case: "interrupt"; readonly entries: readonly LogEntry[] };

/**
 * Says how a task goes on after the server stopped. A call that was awaiting approval still awaits it; one that was
 * approved and not begun runs; one that was executing is FAILED with `interrupted` and never runs again by itself.
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

/** Tells whether nobody can know what became of a call: it had begun, and leaves no trace that could be looked up. */
function isLost(task: Task, call: ToolCall): boolean {
  if (isQuestionOfCall(task, call.toolCallId)) return true;
  return call.status === ToolCallStatus.EXECUTING && !findToolCallDetail(task, call.toolCallId)?.edit;
}

function interruptEntries(task: Task, open: readonly ToolCall[]): LogEntry[] {
  const ended = open.filter((call) => !isAwaitingApproval(call) || isQuestionOfCall(task, call.toolCallId));
  const openCalls = open.filter((call) => !ended.includes(call));
  const updates = ended.map((call) => ({ call: interruptedCall(call) }));
  const asks = openCalls.length > 0;
  // Where messages wait, the session goes on with the first of them.
  const goesOn = !asks && task.queuedMessages.length > 0;
  const waits = stateEntry(TaskState.INPUT_REQUIRED, { openCalls, text: asks ? "" : REASON });
  return [...callEntries(task, updates), ...(goesOn ? [] : [waits])];
}

const REASON = "The server stopped while the agent was working. Send a message to go on.";

/** Says that a turn was cut, in a task that goes on with a message that waited. */
export function cutTurnNotice(): LogEntry {
  const text = "The server stopped while the agent was working. It goes on with the message that waits.";
  return { payload: { case: "notice", value: create(NoticeSchema, { text }) } };
}

/** The call as a stop of the server leaves it: FAILED with `interrupted`, with the output it had shown. */
function interruptedCall({ confirmationRequest: _closed, ...call }: ToolCall): ToolCall {
  const message =
    call.status === ToolCallStatus.EXECUTING
      ? "the server stopped while the call ran: its outcome is unknown, and it was not run again"
      : "the server stopped before the call began: it did not run";
  const error = toolFailure("interrupted", message);
  return { ...call, status: ToolCallStatus.FAILED, result: { case: "error", value: error } };
}
