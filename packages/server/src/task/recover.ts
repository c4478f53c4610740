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
import type { DevtoolError } from "../errors.ts";
import { callEntries } from "./call-entry.ts";
import type { LogEntry } from "./event-log.ts";
import { hasActiveGoal } from "./goal-progress.ts";
import { stateEntry } from "./turn-entries.ts";

/** How a task continues that a stop of the server interrupted. */
export type Recovery =
  /** The task waits for its user or has ended. */
  | { readonly case: "rest" }
  /**
   * The agent is started again: no call was executing, or another agent works on
   * one. The entries record the calls whose outcome is unknown.
   */
  | { readonly case: "resume"; readonly entries: readonly LogEntry[] }
  /**
   * A call was executing and its outcome is unknown. The entries record that,
   * and the user decides.
   */
  | { readonly case: "interrupt"; readonly entries: readonly LogEntry[] };

/**
 * What interrupted a turn: a stop of the server, an append that the store
 * refused, or an outage of the store. A turn that `continues` then does so by
 * itself.
 */
export interface Interruption {
  readonly cause: "stop" | "outage" | DevtoolError;
  readonly continues: boolean | "unasked";
}

/**
 * Returns how a task continues after the server stopped, or lost its store.
 *
 * A call that was awaiting approval still awaits it. An approved call that had
 * not started runs. A call that was executing becomes FAILED with
 * `interrupted`, and never runs again by itself. One that another agent works on
 * is followed on, with its questions: the work goes on where it is.
 */
export function recoverTask(
  task: Task,
  { cause, continues }: Interruption = { cause: "stop", continues: false },
): Recovery {
  if (isTerminal(task.state)) return { case: "rest" };
  if (task.state === TaskState.SUBMITTED) {
    return { case: "resume", entries: [] };
  }
  const open = openToolCalls(task);
  const isElsewhere = ({ toolCallId }: ToolCall): boolean =>
    findToolCallDetail(task, toolCallId)?.delegation !== undefined;
  // The outcome of an executing call is unknown. An edit's is in the file, and
  // a call that asks a question has started.
  const isLost = open.some(
    (call) =>
      !isElsewhere(call) &&
      (isQuestionOfCall(task, call.toolCallId) ||
        (call.status === ToolCallStatus.EXECUTING &&
          !findToolCallDetail(task, call.toolCallId)?.edit)),
  );
  const isFollowed = open.some(
    (call) => call.status === ToolCallStatus.EXECUTING && isElsewhere(call),
  );
  // What waits for its user goes on by itself only with work beside a question.
  const hasWork = continues === "unasked" && open.length > 0;
  if (isInterrupted(task.state) && !isLost && !isFollowed && !hasWork) {
    return { case: "rest" };
  }
  const isApproved = open.some((call) => !isAwaitingApproval(call));
  if (!isLost && (isApproved || continues !== false)) {
    return { case: "resume", entries: [] };
  }
  const words = wordsOf(cause);
  const ended = open.filter(
    (call) =>
      !isElsewhere(call) &&
      (!isAwaitingApproval(call) || isQuestionOfCall(task, call.toolCallId)),
  );
  const openCalls = open.filter((call) => !ended.includes(call));
  const entries = callEntries(
    task,
    ended.map((call) => ({ call: interruptedCall(call, words.problem) })),
  );
  if (!openCalls.every(isAwaitingApproval)) return { case: "resume", entries };
  const asks = openCalls.length > 0;
  // The task continues with the first queued message, or with its goal.
  if (!asks && (task.queuedMessages.length > 0 || hasActiveGoal(task))) {
    return { case: "interrupt", entries };
  }
  const waiting = stateEntry(TaskState.INPUT_REQUIRED, {
    openCalls,
    text: asks ? "" : `${words.sentence} Send a message to go on.`,
  });
  return { case: "interrupt", entries: [...entries, waiting] };
}

function interruptedCall(
  { confirmationRequest: _closed, ...call }: ToolCall,
  problem: string,
): ToolCall {
  const value = toolFailure(
    "interrupted",
    call.status === ToolCallStatus.EXECUTING
      ? `${problem} while the call ran: its outcome is unknown, and it was not run again`
      : `${problem} before the call began: it did not run`,
  );
  const result = { case: "error" as const, value };
  return { ...call, status: ToolCallStatus.FAILED, result };
}

/** What is said about an interruption: within an error, and in a sentence. */
function wordsOf(cause: Interruption["cause"]): {
  readonly problem: string;
  readonly sentence: string;
} {
  if (cause === "stop" || cause === "outage") return WORDS[cause];
  const { problem } = cause;
  return {
    problem: `the store could not be written (${problem})`,
    sentence: `The store could not be written while the agent was working: ${problem}.`,
  };
}

const WORDS = {
  stop: {
    problem: "the server stopped",
    sentence: "The server stopped while the agent was working.",
  },
  outage: {
    problem: "the store could not be reached",
    sentence: "The store could not be reached while the agent was working.",
  },
} as const;

/** Says in a sentence what ended a turn, for the agent that goes on. */
export function interruptionWords(cause: Interruption["cause"]): string {
  return wordsOf(cause).sentence;
}

/**
 * Creates the notice for a task whose turn was interrupted and that continues,
 * with the queued message or by itself.
 */
export function cutTurnNotice(
  cause: Interruption["cause"],
  next: "queued message" | "goal" | "turn",
): LogEntry {
  const { sentence } = wordsOf(cause);
  const text =
    next === "turn"
      ? `${sentence} It goes on, and may say again what it was saying.`
      : `${sentence} It continues with ${next === "goal" ? "its goal" : "the queued message"}.`;
  return { payload: { case: "notice", value: create(NoticeSchema, { text }) } };
}
