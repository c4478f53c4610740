import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type AuditRecord,
  AuditRecordSchema,
  TaskCreatedSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskRenamedSchema,
  TaskState,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Code } from "../errors.ts";
import { verifyAudit } from "./audit-chain.ts";
import type { TaskQuery, TaskStore } from "./task-store.ts";

type OpenStore = () => Promise<TaskStore>;

/** Tests the contract of `TaskStore`. The test of each implementation calls it with a function that opens an empty store. */
export function testTaskStore(open: OpenStore): void {
  describe("append", () => {
    testOrder(open);
    testWriters(open);
  });
  describe("readEvents", () => testReadEvents(open));
  describe("list", () => testList(open));
  describe("labels", () => testLabels(open));
  describe("findLatest", () => testFindLatest(open));
  describe("findMessage", () => testFindMessage(open));
}

function testOrder(open: OpenStore): void {
  it("keeps events in order, and reads those after a sequence", async () => {
    await using store = await open();
    await store.append([created("t1"), text("t1", 2n)]);
    await store.append([text("t1", 3n)]);
    expect(await sequences(store, "t1", 0n)).toEqual([1n, 2n, 3n]);
    expect(await sequences(store, "t1", 2n)).toEqual([3n]);
    expect(await sequences(store, "unknown", 0n)).toEqual([]);
  });

  it("does nothing without events", async () => {
    await using store = await open();
    await expect(store.append([])).resolves.toBeUndefined();
  });

  it("keeps the events of many concurrent appends", async () => {
    await using store = await open();
    await store.append([created("t1")]);
    const appends = Array.from({ length: 2000 }, (_, index) => store.append([text("t1", BigInt(index + 2))]));
    await Promise.all(appends);
    expect(await sequences(store, "t1", 0n)).toHaveLength(2001);
  });
}

function testWriters(open: OpenStore): void {
  it("rejects events that do not follow, and keeps none of them", async () => {
    await using store = await open();
    await store.append([created("t1")]);
    await expect(store.append([text("t1", 3n)])).rejects.toThrow("there was another writer");
    await expect(store.append([text("t1", 1n)])).rejects.toThrow("there was another writer");
    await expect(store.append([text("t2", 2n)])).rejects.toThrow("there was another writer");
    expect(await sequences(store, "t1", 0n)).toEqual([1n]);
  });

  it("lets one of two concurrent writers of the same sequence win, and does not affect others", async () => {
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

  it("rejects events of which one is missing, duplicated or of another task", async () => {
    await using store = await open();
    await expect(store.append([created("t1"), text("t1", 3n)])).rejects.toMatchObject({ code: Code.Aborted });
    await expect(store.append([created("t1"), text("t1", 1n)])).rejects.toMatchObject({ code: Code.Aborted });
    await expect(store.append([created("t1"), text("t2", 2n)])).rejects.toMatchObject({ code: Code.Aborted });
    expect(await sequences(store, "t1", 0n)).toEqual([]);
  });

  it("numbers and chains audit records over all tasks, with the events they explain (S13)", async () => {
    await using store = await open();
    await store.append([created("t1")], [record("t1"), record("t1")]);
    await store.append([created("t2")], [record("t2")]);
    await expect(store.append([created("t2")], [record("t2")])).rejects.toThrow("there was another writer");
    const records = await Array.fromAsync(store.readAudit(0n));
    expect(records.map(({ number, taskId }) => `${number} ${taskId}`)).toEqual(["1 t1", "2 t1", "3 t2"]);
    expect((await Array.fromAsync(store.readAudit(2n))).map(({ number }) => number)).toEqual([3n]);
    expect(await verifyAudit(store.readAudit(0n))).toMatchObject({ count: 3n, fault: undefined });
  });

  it("chains audit records that come without events, in their order", async () => {
    await using store = await open();
    await store.append([created("t1")], [record("t1")]);
    await store.append([], [record("t2"), record("t3")]);
    const records = await Array.fromAsync(store.readAudit(0n));
    expect(records.map(({ number, taskId }) => `${number} ${taskId}`)).toEqual(["1 t1", "2 t2", "3 t3"]);
    expect(await verifyAudit(store.readAudit(0n))).toMatchObject({ count: 3n, fault: undefined });
  });
}

function testReadEvents(open: OpenStore): void {
  it("returns each field of an event", async () => {
    await using store = await open();
    await store.append([created("t1"), text("t1", 2n, "ab \u{1f600} \0")]);
    expect(await eventsOf(store, "t1")).toEqual([created("t1"), text("t1", 2n, "ab \u{1f600} \0")]);
  });

  it("starts in the middle of an append", async () => {
    await using store = await open();
    await store.append([created("t1"), text("t1", 2n), text("t1", 3n), text("t1", 4n)]);
    await store.append([text("t1", 5n), text("t1", 6n)]);
    for (let after = 0n; after <= 6n; after++) {
      const rest = [1n, 2n, 3n, 4n, 5n, 6n].filter((sequence) => sequence > after);
      expect(await sequences(store, "t1", after)).toEqual(rest);
    }
  });

  it("supports a slow reader during appends", async () => {
    await using store = await open();
    await store.append([created("t1")]);
    const reader = store.readEvents("t1", 0n)[Symbol.asyncIterator]();
    expect((await reader.next()).value?.sequence).toBe(1n);
    for (let sequence = 2n; sequence <= 600n; sequence++) await store.append([text("t1", sequence)]);
    await reader.return?.();
    expect(await sequences(store, "t1", 590n)).toEqual([591n, 592n, 593n, 594n, 595n, 596n, 597n, 598n, 599n, 600n]);
  });
}

function testList(open: OpenStore): void {
  it("rejects a cursor that it did not return", async () => {
    await using store = await open();
    for (const cursor of ["nonsense", "null", "[1]", '["1", "a"]']) {
      await expect(store.list({ limit: 1, cursor })).rejects.toMatchObject({ code: Code.InvalidArgument });
    }
  });

  it("lists no task twice when one changes between two pages", async () => {
    await using store = await open();
    for (const [index, id] of ["a", "b", "c"].entries()) await store.append([created(id, index / 2)]);
    const first = await store.list({ limit: 2 });
    await store.append([text("c", 2n)]);
    const second = await store.list({ limit: 2, cursor: first.cursor ?? "" });
    expect(first.tasks.map(({ last }) => last.taskId)).toEqual(["c", "b"]);
    expect(second.tasks.map(({ last }) => last.taskId)).toEqual(["a"]);
  });

  it("sorts by last change, the latest first, over pages and for equal times", async () => {
    await using store = await open();
    for (const [index, id] of ["a", "b", "c", "d", "e"].entries()) await store.append([created(id, index < 3 ? 5 : 7)]);
    const first = await store.list({ principal: "me", limit: 2 });
    const second = await store.list({ principal: "me", limit: 2, cursor: first.cursor ?? "" });
    const third = await store.list({ principal: "me", limit: 2, cursor: second.cursor ?? "" });
    const ids = [first, second, third].map(({ tasks }) => tasks.map(({ last }) => last.taskId));
    expect(ids).toEqual([["e", "d"], ["c", "b"], ["a"]]);
    expect(third.cursor).toBeUndefined();
  });

  it("filters by principal, context and state", async () => {
    await using store = await open();
    await store.append([created("t1")]);
    await store.append([text("t1", 2n)]);
    expect((await store.list({ principal: "other", limit: 9 })).tasks).toEqual([]);
    expect((await store.list({ contextId: "other", limit: 9 })).tasks).toEqual([]);
    expect((await store.list({ state: TaskState.SUBMITTED, limit: 9 })).tasks).toEqual([]);
    const { tasks } = await store.list({ principal: "me", contextId: "c", state: TaskState.WORKING, limit: 9 });
    expect(tasks.map(({ last }) => last.sequence)).toEqual([2n]);
  });
}

function testLabels(open: OpenStore): void {
  it("has the title, workspace and agent of each task, and filters by them", async () => {
    await using store = await open();
    await store.append([labeled("t1", "Fix the ÄRGER", "/w/a", "one")]);
    await store.append([labeled("t2", "fix b\\c 100%_", "/w/b", "two"), text("t2", 2n)]);
    await store.append([created("u3")]);
    const { tasks } = await store.list({ limit: 9 });
    expect(tasks.map(({ title, workspacePath, agent }) => [title, workspacePath, agent])).toEqual([
      ["fix b\\c 100%_", "/w/b", "two"],
      ["", "", ""],
      ["Fix the ÄRGER", "/w/a", "one"],
    ]);
    const idsOf = async (query: Partial<TaskQuery>) =>
      (await store.list({ ...query, limit: 9 })).tasks.map(({ last }) => last.taskId);
    expect(await idsOf({ titleContains: "FIX" })).toEqual(["t2", "t1"]);
    expect(await idsOf({ titleContains: "ärger" })).toEqual(["t1"]);
    expect(await idsOf({ titleContains: "\\" })).toEqual(["t2"]);
    expect(await idsOf({ titleContains: "0%_" })).toEqual(["t2"]);
    expect(await idsOf({ titleContains: "%" })).toEqual(["t2"]);
    expect(await idsOf({ titleContains: "\0" })).toEqual([]);
    expect(await idsOf({ workspacePath: "/w" })).toEqual([]);
    expect(await idsOf({ workspacePath: "/w/a", agent: "one" })).toEqual(["t1"]);
    expect(await idsOf({ workspacePath: "/w/a", agent: "two" })).toEqual([]);
    expect(await idsOf({ idPrefix: "t" })).toEqual(["t2", "t1"]);
    expect(await idsOf({ idPrefix: "%" })).toEqual([]);
    expect(await idsOf({ idPrefix: "u3", principal: "other" })).toEqual([]);
  });

  it("pages through the tasks that a filter selects, none twice and none left out when one is renamed", async () => {
    await using store = await open();
    for (const [at, id] of ["a", "b", "c", "d", "e"].entries())
      await store.append([labeled(id, at % 2 === 0 ? "even" : "odd", "/w", "", at / 4)]);
    const first = await store.list({ titleContains: "even", limit: 2 });
    await store.append([renamed("e", 2n, "even more")]);
    await store.append([renamed("b", 2n, "even now")]);
    const second = await store.list({ titleContains: "even", limit: 2, cursor: first.cursor ?? "" });
    expect([first, second].map(({ tasks }) => tasks.map(({ last }) => last.taskId))).toEqual([["e", "c"], ["a"]]);
    expect(second.cursor).toBeUndefined();
  });

  it("has the last of a task's titles, also when it begins and is renamed at once", async () => {
    await using store = await open();
    const begun = store.append([labeled("t1", "one", "/w", "a"), renamed("t1", 2n, "two")]);
    await Promise.all([begun, store.append([renamed("t1", 3n, "three")])]);
    await store.append([text("t1", 4n)]);
    const { tasks } = await store.list({ titleContains: "three", limit: 1 });
    expect(tasks).toMatchObject([{ title: "three", workspacePath: "/w", agent: "a" }]);
    expect((await store.list({ titleContains: "one", limit: 1 })).tasks).toEqual([]);
  });
}

function testFindLatest(open: OpenStore): void {
  it("finds the last event of the principal's latest task in a context", async () => {
    await using store = await open();
    expect(await store.findLatest("me", "c")).toBeUndefined();
    await store.append([created("t1")]);
    await store.append([created("t2")]);
    expect((await store.findLatest("me", "c"))?.taskId).toBe("t2");
    await store.append([text("t1", 2n), text("t1", 3n)]);
    expect(await store.findLatest("me", "c")).toEqual(text("t1", 3n));
    expect(await store.findLatest("other", "c")).toBeUndefined();
    expect(await store.findLatest("me", "other")).toBeUndefined();
  });

  it("finds it when several tasks changed at once", async () => {
    await using store = await open();
    await Promise.all([store.append([created("t1")]), store.append([created("t2")]), store.append([text("t1", 2n)])]);
    expect(await store.findLatest("me", "c")).toEqual(text("t1", 2n));
  });
}

function testFindMessage(open: OpenStore): void {
  it("finds a message that was appended among other events", async () => {
    await using store = await open();
    await store.append([created("t1")]);
    await store.append([text("t1", 2n), message("t1", 3n, "n"), text("t1", 4n)]);
    await store.append([text("t1", 5n)]);
    expect(await store.findMessage("me", "n")).toEqual(message("t1", 3n, "n"));
  });

  it("finds the latest event that recorded a principal's message", async () => {
    await using store = await open();
    await store.append([created("t1")]);
    await store.append([created("t2")]);
    expect((await store.findMessage("me", "m"))?.taskId).toBe("t2");
    expect(await store.findMessage("other", "m")).toBeUndefined();
    expect(await store.findMessage("me", "unknown")).toBeUndefined();
  });
}

function record(taskId: string): AuditRecord {
  return create(AuditRecordSchema, { taskId });
}

/** Creates the first event of a task of the principal `me` in the conversation `c`, with the message `m`. */
export function created(taskId: string, second = 1): TaskEvent {
  return create(TaskEventSchema, {
    taskId,
    contextId: "c",
    sequence: 1n,
    time: timestampFromMs(second * 1000),
    state: TaskState.SUBMITTED,
    payload: { case: "created", value: { principal: "me", message: { messageId: "m" } } },
  });
}

/** Creates the first event of a task with a title, a workspace and an agent. */
export function labeled(taskId: string, title: string, workspacePath: string, agent: string, second = 1): TaskEvent {
  const message = { messageId: `m-${taskId}`, parts: [{ content: { case: "text" as const, value: title } }] };
  const fields = { principal: "me", message, settings: { workspacePath }, sessionSettings: { agent } };
  const value = create(TaskCreatedSchema, fields);
  return create(TaskEventSchema, { ...created(taskId, second), payload: { case: "created", value } });
}

/** Creates an event that gives a task another title. */
export function renamed(taskId: string, sequence: bigint, title: string): TaskEvent {
  return create(TaskEventSchema, {
    ...text(taskId, sequence),
    payload: { case: "renamed", value: create(TaskRenamedSchema, { title }) },
  });
}

/** Creates an event that adds text to a task. */
export function text(taskId: string, sequence: bigint, value = "x"): TaskEvent {
  return create(TaskEventSchema, {
    taskId,
    contextId: "c",
    sequence,
    time: timestampFromMs(2000),
    state: TaskState.WORKING,
    payload: { case: "text", value: { text: value } },
  });
}

function message(taskId: string, sequence: bigint, messageId: string): TaskEvent {
  return create(TaskEventSchema, {
    taskId,
    contextId: "c",
    sequence,
    time: timestampFromMs(2000),
    state: TaskState.WORKING,
    payload: { case: "message", value: { messageId } },
  });
}

/** Reads all events of a task after a sequence. */
export async function eventsOf(store: TaskStore, taskId: string, after = 0n): Promise<TaskEvent[]> {
  const all: TaskEvent[] = [];
  for await (const event of store.readEvents(taskId, after)) all.push(event);
  return all;
}

async function sequences(store: TaskStore, taskId: string, after: bigint): Promise<bigint[]> {
  return (await eventsOf(store, taskId, after)).map(({ sequence }) => sequence);
}
