import { create } from "@bufbuild/protobuf";
import { oneLine } from "@devtool/internal/visible-text";
import {
  awaitedToolCalls,
  GoalState,
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
import {
  GOAL_IS_PAUSED,
  goalMessage,
  goalNeedsUser,
  stoppedGoal,
} from "./goal-progress.ts";
import { goalEntry, takenEntry } from "./message-queue.ts";
import { BudgetReached } from "./turn-budget.ts";
import { CANCELED, stateEntry } from "./turn-entries.ts";
import type { Outcome } from "./turn-runner.ts";

/** What becomes of a task when its turn has ended. */
export interface AfterTurn {
  /** The entries to append to the log. */
  readonly entries: readonly LogEntry[];
  /**
   * The entry of the message with which the task continues, and stays `working`.
   * Undefined when the entries end the turn.
   */
  readonly next: LogEntry | undefined;
}

/**
 * Returns what becomes of a task when its turn has ended.
 *
 * With a queued message, or a goal, a task that completed or waits for its user
 * continues, and a text of the turn's end is recorded as the agent's. The end of
 * the task closes its open calls, and names the queued messages that nobody
 * takes any more.
 */
export function afterTurn(task: Task, outcome: Outcome): AfterTurn {
  const { entry, goal } =
    outcome.case === "ended"
      ? { entry: outcome.entry, goal: endedGoal(task, outcome.entry) }
      : abortedEntries(task, outcome.reason);
  const { state = TaskState.UNSPECIFIED } = entry;
  const isCut = outcome.case === "aborted";
  const open = isTerminal(state) || isCut ? openToolCalls(task) : [];
  const cancelled = open.map(({ confirmationRequest: _closed, ...call }) => ({
    call: { ...call, status: ToolCallStatus.CANCELLED },
  }));
  const closed = [...callEntries(task, cancelled), ...goal];
  const [queued] = task.queuedMessages;
  // Calls that still await approval keep the task waiting for its user.
  const goesOn =
    state === TaskState.COMPLETED ||
    (isInterrupted(state) && awaitedToolCalls(task).length === 0);
  const next = goesOn ? nextMessage(task, queued, goal) : undefined;
  if (!next) {
    const last = withUntaken(keptOpen(task, entry), task);
    return { entries: [...closed, last], next };
  }
  const { payload } = entry;
  const text = payload.case === "stateChange" ? payload.value.text : "";
  if (text === "") return { entries: closed, next };
  const value = create(TextContentSchema, { text });
  return { entries: [...closed, { payload: { case: "text", value } }], next };
}

/**
 * Creates the entry of the message with which a task goes on, if there is one: a
 * queued one, or that of the goal, unless `stopped` stops it.
 */
function nextMessage(
  task: Task,
  queued: QueuedMessage | undefined,
  stopped: readonly LogEntry[],
): LogEntry | undefined {
  if (queued) return takenEntry(task, queued);
  const message = stopped.length > 0 ? undefined : goalMessage(task);
  return message && goalEntry(message);
}

/** Whether the user has paused the goal of a task. */
function isPaused({ goalProgress }: Task): boolean {
  return goalProgress?.state === GoalState.PAUSED;
}

/** Has a task wait for its user where it would complete with a paused goal. */
function keptOpen(task: Task, entry: LogEntry): LogEntry {
  const { state, payload } = entry;
  if (
    state !== TaskState.COMPLETED ||
    payload.case !== "stateChange" ||
    !isPaused(task)
  ) {
    return entry;
  }
  const words = [payload.value.text, GOAL_IS_PAUSED];
  const text = words.filter((line) => line !== "").join("\n");
  return stateEntry(TaskState.INPUT_REQUIRED, { ...payload.value, text });
}

/** Creates the entry that stops a goal whose agent ended without checks. */
function endedGoal(
  task: Task,
  { state = TaskState.UNSPECIFIED, payload }: LogEntry,
): LogEntry[] {
  const { BLOCKED, UNMET } = GoalState;
  if (state === TaskState.AUTH_REQUIRED) {
    return stoppedGoal(task, BLOCKED, "the agent needs credentials");
  }
  const isOver = isTerminal(state) && state !== TaskState.COMPLETED;
  return isOver || payload.case === "reply"
    ? stoppedGoal(task, UNMET, "the agent has ended the task")
    : [];
}

/**
 * Creates the entries for the end of a turn that was aborted or failed, by the
 * reason: the state of the task, and that of its goal. A task with a goal waits
 * for its user where it would have failed.
 */
function abortedEntries(
  task: Task,
  reason: unknown,
): { readonly entry: LogEntry; readonly goal: readonly LogEntry[] } {
  const { INPUT_REQUIRED, CANCELED: canceled, FAILED } = TaskState;
  const { BLOCKED, UNMET } = GoalState;
  if (reason === CANCELED) {
    const goal = stoppedGoal(task, UNMET, "the task was canceled");
    return { entry: stateEntry(canceled), goal };
  }
  const { message } = DevtoolError.from(reason);
  if (reason instanceof BudgetReached) {
    const state = reason.isOfGoal ? UNMET : BLOCKED;
    const goal = stoppedGoal(task, state, message);
    return { entry: stateEntry(INPUT_REQUIRED, { text: message }), goal };
  }
  const goal = stoppedGoal(task, BLOCKED, message);
  if (isPaused(task)) {
    const text = `The turn failed: ${message}. ${GOAL_IS_PAUSED}`;
    return { entry: stateEntry(INPUT_REQUIRED, { text }), goal };
  }
  const text = goalNeedsUser(message);
  return goal.length > 0
    ? { entry: stateEntry(INPUT_REQUIRED, { text }), goal }
    : { entry: stateEntry(FAILED, { error: message }), goal };
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
