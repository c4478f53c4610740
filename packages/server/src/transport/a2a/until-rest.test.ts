import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  emptyTask,
  reduceTask,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { standingOf } from "./until-rest.ts";

type Payload = NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>;

const { SUBMITTED, WORKING, INPUT_REQUIRED, COMPLETED } = TaskState;
const change: Payload = { case: "stateChange", value: {} };
const says: Payload = { case: "text", value: { text: "Hi." } };
const summary: Payload = { case: "summary", value: { text: "All." } };

function logOf(
  ...steps: readonly (readonly [TaskState, Payload])[]
): TaskEvent[] {
  return steps.map(([state, payload], index) =>
    create(TaskEventSchema, {
      sequence: BigInt(index + 1),
      taskId: "t",
      contextId: "c",
      state,
      payload,
    }),
  );
}

const twoExchanges = logOf(
  [SUBMITTED, { case: "created", value: {} }],
  [INPUT_REQUIRED, change],
  [WORKING, says],
  [COMPLETED, change],
);

/**
 * Returns the standing of each event of a log in a subscription that began when
 * the log had `head` events.
 */
function standings(log: readonly TaskEvent[], head: number): string[] {
  const task = log.slice(0, head).reduce(reduceTask, emptyTask());
  return log.map((event) => standingOf(event, task));
}

describe("a subscription of A2A 0.3 (STREAM-1)", () => {
  it("ends at the event at which its task already waited when the subscription began", () => {
    expect(standings(twoExchanges, 2).slice(0, 2)).toEqual(["live", "end"]);
  });

  it("replays earlier exchanges, whose ends are not final", () => {
    expect(standings(twoExchanges, 4)).toEqual(["live", "past", "live", "end"]);
  });

  it("lasts until the next end of an exchange while its task is working", () => {
    expect(standings(twoExchanges, 3)).toEqual(["live", "past", "live", "end"]);
  });

  it("ends with the last event of a task at rest, also when that came after the end of its last exchange", () => {
    const log = [
      ...twoExchanges,
      ...logOf([COMPLETED, summary]).map((event) => ({
        ...event,
        sequence: 5n,
      })),
    ];
    expect(standings(log, 5)).toEqual(["live", "past", "live", "past", "rest"]);
  });
});
