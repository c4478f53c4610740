import { create } from "@bufbuild/protobuf";
import {
  ToolCallDetailSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { expect, it } from "vitest";
import { NOTHING } from "./spending.ts";
import { TurnBudget } from "./turn-budget.ts";

it("reads what called agents used when a call changes, and else once a second", async () => {
  let nowMs = 1_000_000;
  let reads = 0;
  const below = { turn: NOTHING, goal: NOTHING, all: NOTHING };
  const readBelow = async () => {
    reads++;
    return below;
  };
  const options = { model: "m", price: undefined, readBelow, isFree: false };
  const budget = new TurnBudget(
    [],
    { ...options, now: () => new Date(nowMs) },
    below,
  );
  const readsFor = async (status: ToolCallStatus, taskId: string) => {
    const before = reads;
    const call = create(ToolCallSchema, { toolCallId: "c", status });
    const delegation = { agent: "other", taskId };
    const detail = create(ToolCallDetailSchema, { delegation });
    await budget.addBelow([{ call, detail }]);
    return reads - before;
  };
  expect(await readsFor(ToolCallStatus.EXECUTING, "")).toBe(1);
  expect(await readsFor(ToolCallStatus.EXECUTING, "t")).toBe(1);
  nowMs += 999;
  expect(await readsFor(ToolCallStatus.EXECUTING, "t")).toBe(0);
  nowMs += 1;
  expect(await readsFor(ToolCallStatus.EXECUTING, "t")).toBe(1);
  expect(await readsFor(ToolCallStatus.EXECUTING, "t")).toBe(0);
  expect(await readsFor(ToolCallStatus.SUCCEEDED, "t")).toBe(1);
});
