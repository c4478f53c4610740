import { create } from "@bufbuild/protobuf";
import {
  type GoalProgress,
  GoalProgressSchema,
  GoalState,
} from "@devtool/schema";
import { expect, it } from "vitest";
import { inChosenState } from "./goal-progress.ts";

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
