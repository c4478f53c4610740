import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type TaskEvent, TaskEventSchema, TaskState } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import type { TaskStore } from "./task-store.ts";

/** What every store must do; each store's test runs it with a way to open an empty one. */
export function testTaskStore(open: () => Promise<TaskStore>): void {
  describe("append", () => {
    it("keeps events in order, and gives those after a sequence", async () => {
      await using store = await open();
      await store.append([created("t1"), text("t1", 2n)]);
      await store.append([text("t1", 3n)]);
      expect(await sequences(store, "t1", 0n)).toEqual([1n, 2n, 3n]);
      expect(await sequences(store, "t1", 2n)).toEqual([3n]);
      expect(await sequences(store, "unknown", 0n)).toEqual([]);
    });

    it("refuses events that do not follow, and keeps nothing of them", async () => {
      await using store = await open();
      await store.append([created("t1")]);
      await expect(store.append([text("t1", 3n)])).rejects.toThrow("somebody else wrote");
      await expect(store.append([text("t1", 1n)])).rejects.toThrow("somebody else wrote");
      await expect(store.append([text("t2", 2n)])).rejects.toThrow("somebody else wrote");
      expect(await sequences(store, "t1", 0n)).toEqual([1n]);
    });

    it("lets one writer win when two append the same sequence at once, and harms nobody beside them", async () => {
      await using store = await open();
      await store.append([created("t1")]);
      const outcomes = await Promise.allSettled([
        store.append([text("t1", 2n)]),
        store.append([text("t1", 2n)]),
        store.append([created("t2")]),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
      expect(await sequences(store, "t1", 0n)).toEqual([1n, 2n]);
    });

    it("takes many events at once and gives all back", async () => {
      await using store = await open();
      await store.append([created("t1")]);
      const appends = Array.from({ length: 2000 }, (_, index) => store.append([text("t1", BigInt(index + 2))]));
      await Promise.all(appends);
      expect(await sequences(store, "t1", 0n)).toHaveLength(2001);
    });
  });

  describe("list", () => {
    it("gives the latest changed first, page by page, also where times are equal", async () => {
      await using store = await open();
      for (const [index, id] of ["a", "b", "c", "d", "e"].entries())
        await store.append([created(id, index < 3 ? 5 : 7)]);
      const first = await store.list({ principal: "me", limit: 2 });
      const second = await store.list({ principal: "me", limit: 2, cursor: first.cursor ?? "" });
      const third = await store.list({ principal: "me", limit: 2, cursor: second.cursor ?? "" });
      const ids = [first, second, third].map(({ tasks }) => tasks.map(({ taskId }) => taskId));
      expect(ids).toEqual([["e", "d"], ["c", "b"], ["a"]]);
      expect(third.cursor).toBeUndefined();
    });

    it("keeps to a principal, a context and a state", async () => {
      await using store = await open();
      await store.append([created("t1")]);
      await store.append([text("t1", 2n)]);
      expect((await store.list({ principal: "other", limit: 9 })).tasks).toEqual([]);
      expect((await store.list({ contextId: "other", limit: 9 })).tasks).toEqual([]);
      expect((await store.list({ state: TaskState.SUBMITTED, limit: 9 })).tasks).toEqual([]);
      const { tasks } = await store.list({ principal: "me", contextId: "c", state: TaskState.WORKING, limit: 9 });
      expect(tasks.map(({ sequence }) => sequence)).toEqual([2n]);
    });
  });

  describe("findMessage", () => {
    it("finds the latest event that recorded a principal's message", async () => {
      await using store = await open();
      await store.append([created("t1")]);
      await store.append([created("t2")]);
      expect((await store.findMessage("me", "m"))?.taskId).toBe("t2");
      expect(await store.findMessage("other", "m")).toBeUndefined();
      expect(await store.findMessage("me", "unknown")).toBeUndefined();
    });
  });
}

function created(taskId: string, second = 1): TaskEvent {
  return create(TaskEventSchema, {
    taskId,
    contextId: "c",
    sequence: 1n,
    time: timestampFromMs(second * 1000),
    state: TaskState.SUBMITTED,
    payload: { case: "created", value: { principal: "me", message: { messageId: "m" } } },
  });
}

function text(taskId: string, sequence: bigint): TaskEvent {
  return create(TaskEventSchema, {
    taskId,
    contextId: "c",
    sequence,
    time: timestampFromMs(2000),
    state: TaskState.WORKING,
    payload: { case: "text", value: { text: "x" } },
  });
}

async function sequences(store: TaskStore, taskId: string, after: bigint): Promise<bigint[]> {
  const all: bigint[] = [];
  for await (const { sequence } of store.readEvents(taskId, after)) all.push(sequence);
  return all;
}
