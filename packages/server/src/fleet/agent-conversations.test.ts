import { create } from "@bufbuild/protobuf";
import { BudgetConfigSchema } from "@devtool/schema";
import { expect, it } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { Budgets } from "../task/turn-budget.ts";
import { created } from "../testing/task-events.ts";
import { createAgentConversations } from "./agent-conversations.ts";
import { OpenTasks } from "./open-tasks.ts";

it("reads no further task of a conversation once its signal has aborted", async () => {
  const store = new MemoryTaskStore();
  for (const id of ["one", "other"]) {
    await store.append({ events: [created(id)] });
  }
  const read = new Set<string>();
  let canceled = new AbortController();
  const readEvents = store.readEvents.bind(store);
  store.readEvents = (taskId, after) => {
    read.add(taskId);
    canceled.abort(new Error("canceled"));
    return readEvents(taskId, after);
  };
  const now = (): Date => new Date(0);
  const createExecutor = () => {
    throw new Error("no task is opened");
  };
  const { tasks, spending } = createAgentConversations(
    new OpenTasks({ store, createExecutor, now }),
    store,
    new Budgets(create(BudgetConfigSchema), store, now),
  );
  const key = { contextId: "c", principal: "me" };
  for (const readAll of [
    (signal: AbortSignal) => Array.fromAsync(tasks(key, "all", signal)),
    (signal: AbortSignal) => spending(key, signal),
  ]) {
    canceled = new AbortController();
    read.clear();
    await expect(readAll(canceled.signal)).rejects.toThrow("canceled");
    expect(read.size).toBe(1);
  }
});
