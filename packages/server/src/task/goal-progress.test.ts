import { create } from "@bufbuild/protobuf";
import {
  emptyTask,
  type GoalProgress,
  GoalProgressSchema,
  GoalState,
  MessageSchema,
  Role,
  ToolCallStatus,
} from "@devtool/schema";
import { expect, it } from "vitest";
import { goalAfterChecks, inChosenState } from "./goal-progress.ts";

const { ACTIVE, PAUSED, BLOCKED, ACHIEVED } = GoalState;

function progress(state: GoalState): GoalProgress {
  return create(GoalProgressSchema, { state, turns: state });
}

it.each([
  ["paused since", ACTIVE, PAUSED, PAUSED],
  ["resumed since", PAUSED, ACTIVE, ACTIVE],
  ["paused, and achieved all the same", ACHIEVED, PAUSED, ACHIEVED],
  ["paused, and needs its user", BLOCKED, PAUSED, BLOCKED],
])(
  "records what checks counted for a goal that was %s",
  (_, counted, chosen, recorded) => {
    const value = inChosenState(progress(counted), {
      goalProgress: progress(chosen),
    });
    expect([value.state, value.turns]).toEqual([recorded, counted]);
  },
);

const ENDED = "the command ended with exit code 1";

/** Returns a goal after a third turn whose check says what it said before. */
function afterSameWords(words: string, ofAgent: ToolCallStatus): GoalProgress {
  const call = (toolCallId: string, status: ToolCallStatus) => {
    const result = { case: "error" as const, value: { message: words } };
    const value = { toolCallId, status, result };
    return { content: { case: "toolCall" as const, value } };
  };
  const message = (role: Role, parts: ReturnType<typeof call>[]) =>
    create(MessageSchema, { role, parts });
  const { FAILED, SUCCEEDED } = ToolCallStatus;
  const task = {
    ...emptyTask(),
    history: [
      message(Role.USER, []),
      message(Role.AGENT, [call("earlier", SUCCEEDED)]),
      message(Role.USER, []),
      message(Role.AGENT, [call("own", ofAgent)]),
      message(Role.AGENT, [call("passed", SUCCEEDED), call("check", FAILED)]),
    ],
  };
  const calls = ["passed", "check"].map((id) => ({ id, command: id }));
  const first = goalAfterChecks(task, calls);
  const goalProgress = create(GoalProgressSchema, {
    ...{ ...first, turns: 2, sameTurns: 2 },
  });
  return goalAfterChecks({ ...task, goalProgress }, calls);
}

it.each([
  ["nothing, and no call succeeded", ENDED, ToolCallStatus.FAILED, BLOCKED],
  ["nothing, and a call succeeded", ENDED, ToolCallStatus.SUCCEEDED, ACTIVE],
  ["words", `${ENDED}\nno`, ToolCallStatus.SUCCEEDED, BLOCKED],
  [
    "one long line",
    `${ENDED}\n${"x".repeat(9_000)}`,
    ToolCallStatus.SUCCEEDED,
    BLOCKED,
  ],
])(
  "counts the turns of a check that wrote %s",
  (_, words, ofAgent, expected) => {
    const { state, sameTurns } = afterSameWords(words, ofAgent);
    expect([state, sameTurns]).toEqual([
      expected,
      expected === BLOCKED ? 3 : 1,
    ]);
  },
);
