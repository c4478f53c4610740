import { create } from "@bufbuild/protobuf";
import { oneLine } from "@devtool/internal/visible-text";
import {
  awaitedToolCalls,
  isInterrupted,
  isTerminal,
  openToolCalls,
  type QueuedMessage,
  StateChangeSchema,
  type Task,
  TaskState,
  TextContentSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { DevtoolError } from "../errors.ts";
import { callEntries } from "./call-entry.ts";
import type { LogEntry } from "./event-log.ts";
import { BudgetReached } from "./turn-budget.ts";
import { CANCELED, stateEntry } from "./turn-entries.ts";
import type { Outcome } from "./turn-runner.ts";

/** What becomes of a task when its turn has ended. */
export interface AfterTurn {
  /** The entries to append to the log. */
  readonly entries: readonly LogEntry[];
  /**
   * The queued message with which the task continues, and stays `working`.
   * Undefined when the entries end the turn.
   */
  readonly next: QueuedMessage | undefined;
}

/**
 * Returns what becomes of a task when its turn has ended.
 *
 * With a queued message, a task that completed or waits for its user continues,
 * and a text of the turn's end is recorded as the agent's. The end of the task
 * closes its open calls, and names the queued messages that nobody takes any
 * more.
 */
export function afterTurn(task: Task, outcome: Outcome): AfterTurn {
  const entry =
    outcome.case === "ended" ? outcome.entry : abortedEntry(outcome.reason);
  const { state = TaskState.UNSPECIFIED } = entry;
  const isCut = outcome.case === "aborted";
  const open = isTerminal(state) || isCut ? openToolCalls(task) : [];
  const cancelled = open.map(({ confirmationRequest: _closed, ...call }) => ({
    call: { ...call, status: ToolCallStatus.CANCELLED },
  }));
  const closed = callEntries(task, cancelled);
  const [next] = task.queuedMessages;
  // Calls that still await approval keep the task waiting for its user.
  const goesOn =
    state === TaskState.COMPLETED ||
    (isInterrupted(state) && awaitedToolCalls(task).length === 0);
  if (!next || !goesOn) {
    return { entries: [...closed, withUntaken(entry, task)], next: undefined };
  }
  const { payload } = entry;
  const text = payload.case === "stateChange" ? payload.value.text : "";
  if (text === "") return { entries: closed, next };
  const value = create(TextContentSchema, { text });
  return { entries: [...closed, { payload: { case: "text", value } }], next };
}

/**
 * Creates the entry for the end of a turn that was aborted or failed, by the
 * reason.
 */
function abortedEntry(reason: unknown): LogEntry {
  if (reason === CANCELED) return stateEntry(TaskState.CANCELED);
  if (reason instanceof BudgetReached) {
    return stateEntry(TaskState.INPUT_REQUIRED, { text: reason.message });
  }
  return stateEntry(TaskState.FAILED, {
    error: DevtoolError.from(reason).message,
  });
}

/** Returns the beginning of a message in quotes; its id if it has no text. */
function wordsOf({ message }: QueuedMessage): string {
  const text = message?.parts.find(({ content }) => content.case === "text")
    ?.content.value;
  const words = typeof text === "string" ? oneLine(text, 60) : "";
  return JSON.stringify(words || (message?.messageId ?? ""));
}

/**
 * Returns the entry that ends a task, with the queued messages that it leaves
 * untaken in its text.
 */
function withUntaken(entry: LogEntry, { queuedMessages }: Task): LogEntry {
  const { payload, state = TaskState.UNSPECIFIED } = entry;
  if (
    queuedMessages.length === 0 ||
    !isTerminal(state) ||
    payload.case !== "stateChange"
  ) {
    return entry;
  }
  const untakenMessageIds = queuedMessages.map(
    ({ message }) => message?.messageId ?? "",
  );
  const words = queuedMessages.map(wordsOf).join(", ");
  const text = [payload.value.text, `messages that were not taken: ${words}`]
    .filter((line) => line !== "")
    .join("\n");
  const value = create(StateChangeSchema, {
    ...payload.value,
    text,
    untakenMessageIds,
  });
  return { ...entry, payload: { case: "stateChange", value } };
}
