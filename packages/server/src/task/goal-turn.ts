import { createHash } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import {
  awaitedToolCalls,
  findToolCall,
  type GoalProgress,
  GoalState,
  NoticeSchema,
  type Task,
  TaskState,
} from "@devtool/schema";
import type {
  AgentEvent,
  AgentExecutor,
  Turn,
  TurnEnd,
} from "../agent/agent-executor.ts";
import type { CheckCall, GoalChecks } from "../agent/goal-checks.ts";
import { isPrompt } from "../agent/turn-news.ts";
import { Code, DevtoolError, quoted } from "../errors.ts";
import { goalAfterChecks, goalWords, hasActiveGoal } from "./goal-progress.ts";

/** How the ids of checks begin. */
const CHECK = "check-";

/** Whether an event is about checks, which use nothing of a budget. */
export function isOfChecks(event: AgentEvent): boolean {
  return (
    event.case === "goalProgress" ||
    (event.case === "toolCalls" &&
      event.value.every(({ call }) => call.toolCallId.startsWith(CHECK)))
  );
}

/**
 * Throws for an event with which an agent would say itself what a check says, in
 * this turn or a later one.
 */
export function assertNoCheck(event: AgentEvent): void {
  const isForged =
    event.case === "goalProgress" ||
    (event.case === "toolCalls" &&
      event.value.some(({ call }) => call.toolCallId.startsWith(CHECK)));
  if (!isForged) return;
  throw new DevtoolError(
    `the agent made a call whose id begins with ${quoted(CHECK)}, as those of checks do`,
    Code.Internal,
  );
}

/**
 * Has an agent work on a turn, and then runs the checks of the task's goal.
 *
 * The checks are calls of the turn, so a turn that goes on after a restart goes
 * on with them, and what they said is in the log before the turn ends.
 */
export async function* workForGoal(
  executor: AgentExecutor,
  checks: GoalChecks,
  turn: Turn,
  signal: AbortSignal,
): AsyncIterable<AgentEvent> {
  let end: TurnEnd = { state: TaskState.COMPLETED, text: "" };
  if (!hasBegunChecks(turn)) {
    for await (const event of executor.execute(turn, signal)) {
      if (event.case === "end") {
        end = event.value;
        break;
      }
      assertNoCheck(event);
      yield event;
      if (event.case === "reply") return;
    }
  }
  if (mayBeChecked(turn.task, end)) {
    if (end.text !== "") yield { case: "text", value: end.text };
    end = yield* runChecks(checks, turn, end, signal);
  }
  yield { case: "end", value: end };
}

/** Whether the turn went as far as its checks before a restart. */
function hasBegunChecks(turn: Turn): boolean {
  const [first] = checkCalls(turn.task);
  return first !== undefined && findToolCall(turn.task, first.id) !== undefined;
}

/** Whether the agent has done what it can for the goal of its task. */
function mayBeChecked(task: Task, { state }: TurnEnd): boolean {
  return (
    hasActiveGoal(task) &&
    (state === TaskState.COMPLETED || state === TaskState.INPUT_REQUIRED) &&
    awaitedToolCalls(task).length === 0
  );
}

/** Runs the checks, and returns how the turn ends if it is the last. */
async function* runChecks(
  checks: GoalChecks,
  turn: Turn,
  end: TurnEnd,
  signal: AbortSignal,
): AsyncGenerator<AgentEvent, TurnEnd> {
  const calls = checkCalls(turn.task);
  yield* checks.run(turn, calls, signal);
  const counted = goalAfterChecks(turn.task, calls);
  yield { case: "goalProgress", value: counted };
  const { goalProgress: value = counted } = turn.task;
  if (value.state === GoalState.ACTIVE) {
    const text = goalWords(value, turn.task.goal);
    yield { case: "notice", value: create(NoticeSchema, { text }) };
  }
  return endAfterChecks(turn.task, value, end.state);
}

/**
 * Returns how the turn of a task ends whose checks have run; undefined for one
 * whose checks have not. A stop of the server may come between the two, and how
 * the agent ended is lost then: the task of an achieved goal has completed.
 */
export function checkedEnd(task: Task): TurnEnd | undefined {
  const { goalProgress } = task;
  const last = goalProgress?.checks.at(-1)?.toolCallId;
  const isChecked = checkCalls(task).some(({ id }) => id === last);
  if (!goalProgress || !isChecked) return undefined;
  return endAfterChecks(task, goalProgress, TaskState.COMPLETED);
}

/** @param state how the agent ended its turn */
function endAfterChecks(
  { goal }: Task,
  progress: GoalProgress,
  state: TurnEnd["state"],
): TurnEnd {
  if (progress.state === GoalState.ACTIVE) return { state, text: "" };
  const isAchieved = progress.state === GoalState.ACHIEVED;
  const text = goalWords(progress, goal);
  return { state: isAchieved ? state : TaskState.INPUT_REQUIRED, text };
}

/**
 * The checks as calls of a turn. The place in the history of its last message of
 * the user is in their ids, since no other turn ends with that.
 */
function checkCalls(task: Task): CheckCall[] {
  const place = task.history.findLastIndex(isPrompt);
  const turn = createHash("sha256")
    .update(`${task.id}:${place}`)
    .digest("hex")
    .slice(0, 16);
  return (task.goal?.checks ?? []).map((command, index) => ({
    id: `${CHECK}${turn}-${index + 1}`,
    command,
  }));
}
