import { create } from "@bufbuild/protobuf";
import {
  BudgetConfigSchema,
  emptyTask,
  TaskState,
  ToolCallDetailSchema,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { NOTHING } from "./spending.ts";
import { type BudgetReached, Budgets, TurnBudget } from "./turn-budget.ts";
import { WorkTime } from "./work-time.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("reads what called agents used when a call changes, and else once a second", async () => {
  let reads = 0;
  const below = { turn: NOTHING, goal: NOTHING, all: NOTHING };
  const readBelow = async () => {
    reads++;
    return below;
  };
  const options = { model: "m", price: undefined, readBelow, isFree: false };
  const budget = new TurnBudget([], options, below);
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
  vi.advanceTimersByTime(999);
  expect(await readsFor(ToolCallStatus.EXECUTING, "t")).toBe(0);
  vi.advanceTimersByTime(1);
  expect(await readsFor(ToolCallStatus.EXECUTING, "t")).toBe(1);
  expect(await readsFor(ToolCallStatus.EXECUTING, "t")).toBe(0);
  expect(await readsFor(ToolCallStatus.SUCCEEDED, "t")).toBe(1);
});

it("counts the time that a task works, whatever the clock says, and no moment in which it waits", async () => {
  const turn = { time: { seconds: 8n } };
  const budgets = new Budgets(
    create(BudgetConfigSchema, { turn }),
    new MemoryTaskStore(),
    () => new Date(),
  );
  const task = { ...emptyTask(), id: "t1" };
  const about = { isNew: true, wanted: undefined, isFree: false };
  const budget = await budgets.begin(task, "m", about);
  const work = new WorkTime();
  work.note(TaskState.WORKING);
  let reached: BudgetReached | undefined;
  using _watch = budget?.watch(work, (reason) => {
    reached = reason;
  });
  for (const jumpMs of [3_600_000, -7_200_000]) {
    vi.setSystemTime(Date.now() + jumpMs);
    vi.advanceTimersByTime(1000);
  }
  // Each look finds a task that works.
  for (let each = 0; each < 20; each++) {
    work.note(TaskState.INPUT_REQUIRED);
    vi.advanceTimersByTime(900);
    work.note(TaskState.WORKING);
    vi.advanceTimersByTime(100);
  }
  vi.advanceTimersByTime(3999);
  expect(reached).toBeUndefined();
  vi.advanceTimersByTime(1);
  expect(reached?.message).toBe(
    "This turn used 8 s of work, and the limit is 8 s. Send a message to go on.",
  );
});
