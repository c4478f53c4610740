import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { emptyTask, reduceTask, type TaskEvent, TaskEventSchema, TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { standingOf } from "./until-rest.ts";

type Payload = NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>;

const { SUBMITTED, WORKING, INPUT_REQUIRED, COMPLETED } = TaskState;
const change: Payload = { case: "stateChange", value: {} };
const says: Payload = { case: "text", value: { text: "Hi." } };
const summary: Payload = { case: "summary", value: { text: "All." } };

function logOf(...steps: readonly (readonly [TaskState, Payload])[]): TaskEvent[] {
  return steps.map(([state, payload], index) =>
    create(TaskEventSchema, { sequence: BigInt(index + 1), taskId: "t", contextId: "c", state, payload }),
  );
}

const twoExchanges = logOf(
  [SUBMITTED, { case: "created", value: {} }],
  [INPUT_REQUIRED, change],
  [WORKING, says],
  [COMPLETED, change],
);

/** What each event of a log is to a subscription that was asked for when the log had some events. */
function standings(log: readonly TaskEvent[], head: number): string[] {
  const task = log.slice(0, head).reduce(reduceTask, emptyTask());
  return log.map((event) => standingOf(event, task));
}

describe("a subscription of A2A 0.3 (STREAM-1)", () => {
  it("ends where its task waits, if that is where it stood when it was asked for", () => {
    expect(standings(twoExchanges, 2).slice(0, 2)).toEqual(["live", "end"]);
  });

  it("shows what was before over the ends of exchanges, which are not final", () => {
    expect(standings(twoExchanges, 4)).toEqual(["live", "past", "live", "end"]);
  });

  it("goes on to the next end while its task is at work", () => {
    expect(standings(twoExchanges, 3)).toEqual(["live", "past", "live", "end"]);
  });

  it("has the final event of a task at rest also where something came behind it", () => {
    const log = [...twoExchanges, ...logOf([COMPLETED, summary]).map((event) => ({ ...event, sequence: 5n }))];
    expect(standings(log, 5)).toEqual(["live", "past", "live", "past", "rest"]);
  });
});
