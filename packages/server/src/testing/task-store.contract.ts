import { create, toBinary } from "@bufbuild/protobuf";
import {
  type AuditRecord,
  AuditRecordSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
  TextContentSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Code } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";
import { verifyAudit } from "../store/verify-audit.ts";
import { testDelete } from "./task-deletion.contract.ts";
import {
  created,
  eventsOf,
  labeled,
  message,
  sequences,
  text,
  UNKNOWN,
} from "./task-events.ts";
import {
  type Keeping,
  type OpenAt,
  type OpenTaskStore,
  testTaskList,
} from "./task-list.contract.ts";

/**
 * Tests the contract of `TaskStore`. The test of each implementation calls it
 * with a function that opens a store at a place, and opens it again there.
 *
 * @param keeps `forgets` for a store that says of itself that it keeps nothing
 */
export function testTaskStore(
  openAt: OpenAt<TaskStore>,
  keeps: Keeping = "durable",
): void {
  const open = () => openAt(crypto.randomUUID());
  describe("append", () => {
    testOrder(open);
    testWriters(open);
  });
  describe("readAudit", () => testAuditTexts(open));
  describe("readEvents", () => testReadEvents(open));
  describe("putHead", () => testHeads(openAt, keeps));
  describe("a store that is opened again", () => testReopened(openAt, keeps));
  testTaskList(open);
  describe("readSizes", () => testReadSizes(open));
  describe("findLatest", () => testFindLatest(open));
  describe("findMessage", () => testFindMessage(open));
  testDelete(open);
}

/** The size of a head in bytes. */
const SIZE = 300_000;

function testHeads(openAt: OpenAt<TaskStore>, keeps: Keeping): void {
  const head = (taskId: string, sequence: bigint, byte: number) => ({
    ...{ taskId, sequence },
    data: new Uint8Array(SIZE).fill(byte),
  });
  const bytes = async (store: TaskStore, taskId: string) => {
    const data = await store.readHead(taskId);
    return data && [data.length, ...new Set(data)];
  };

  it("keeps the latest head of each task that there is", async () => {
    const place = crypto.randomUUID();
    {
      await using store = await openAt(place);
      await store.append({ events: [created("t1"), text("t1", 2n)] });
      await store.append({ events: [created("t2")] });
      expect(await store.readHead("t1")).toBeUndefined();
      await store.putHead(head("t1", 1n, 1));
      expect(await bytes(store, "t1")).toEqual([SIZE, 1]);
      await store.putHead(head("t1", 2n, 2));
      await store.putHead(head("t1", 1n, 3));
      await store.putHead(head("unknown", 1n, 4));
      expect(await bytes(store, "t1")).toEqual([SIZE, 2]);
      // As another release has it.
      await store.putHead(head("t1", 2n, 5));
      for (const none of ["t2", "unknown"]) {
        expect(await store.readHead(none)).toBeUndefined();
      }
    }
    await using again = await openAt(place);
    const kept = keeps === "durable" ? [SIZE, 5] : undefined;
    expect(await bytes(again, "t1")).toEqual(kept);
  });

  it("keeps none of a task that is deleted, nor of one that has its id later", async () => {
    await using store = await openAt(crypto.randomUUID());
    await store.append({ events: [created("t1")] });
    await store.putHead(head("t1", 1n, 1));
    const record = create(AuditRecordSchema, { taskId: "t1" });
    const deleted = store.delete({ taskId: "t1", sequence: 1n, record });
    const late = store.putHead(head("t1", 2n, 2));
    await Promise.all([deleted, late]);
    expect(await store.readHead("t1")).toBeUndefined();
    await store.putHead(head("t1", 3n, 3));
    expect(await store.readHead("t1")).toBeUndefined();
    await store.append({ events: [created("t1")] });
    expect(await store.readHead("t1")).toBeUndefined();
  });
}

function testReadSizes(open: OpenTaskStore): void {
  it("has each task once, with its owner, its end and the bytes of its events, until it is deleted", async () => {
    await using store = await open();
    const taskId = (at: number): string => `t${at}`;
    for (let at = 0; at < 1100; at++) {
      const principal = at === 3 ? "other" : "me";
      await store.append({ events: [created(taskId(at), at, principal)] });
    }
    await store.append({ events: [text("t3", 2n, "x".repeat(1000))] });
    await store.append({ events: [text("t3", 3n, "y".repeat(400_000))] });
    const record = create(AuditRecordSchema, { taskId: "t4" });
    await store.delete({ taskId: "t4", sequence: 1n, record });
    const sizes = new Map(
      (await Array.fromAsync(store.readSizes())).map((task) => [
        task.taskId,
        task,
      ]),
    );
    expect(sizes.size).toBe(1099);
    expect(sizes.has("t4")).toBe(false);
    const { bytes: smallBytes = 0 } = sizes.get("t2") ?? {};
    expect(smallBytes).toBeGreaterThan(10);
    expect(smallBytes).toBeLessThan(300);
    const { bytes = 0, ...large } = sizes.get("t3") ?? {};
    expect(large).toEqual({
      ...{ taskId: "t3", contextId: "c", principal: "other" },
      ...{ state: TaskState.WORKING, sequence: 3n, timeMs: 2000 },
    });
    // Each row repeats a few fields of the task.
    expect(bytes - smallBytes).toBeGreaterThanOrEqual(401_000);
    expect(bytes - smallBytes).toBeLessThan(402_000);
  });
}

function testOrder(open: OpenTaskStore): void {
  it("keeps events in order, and reads those after a sequence", async () => {
    await using store = await open();
    await store.append({ events: [created("t1"), text("t1", 2n)] });
    await store.append({ events: [text("t1", 3n)] });
    expect(await sequences(store, "t1", 0n)).toEqual([1n, 2n, 3n]);
    expect(await sequences(store, "t1", 2n)).toEqual([3n]);
    expect(await sequences(store, "unknown", 0n)).toEqual([]);
  });

  it("does nothing without events", async () => {
    await using store = await open();
    await expect(store.append({ events: [] })).resolves.toBeUndefined();
  });

  it("keeps the events of many concurrent appends", async () => {
    await using store = await open();
    await store.append({ events: [created("t1")] });
    const appends = Array.from({ length: 2000 }, (_, index) =>
      store.append({ events: [text("t1", BigInt(index + 2))] }),
    );
    await Promise.all(appends);
    expect(await sequences(store, "t1", 0n)).toHaveLength(2001);
  });
}

function testWriters(open: OpenTaskStore): void {
  it("rejects events that do not follow, and keeps none of them", async () => {
    await using store = await open();
    await store.append({ events: [created("t1")] });
    await expect(store.append({ events: [text("t1", 3n)] })).rejects.toThrow(
      "there was another writer",
    );
    await expect(store.append({ events: [text("t1", 1n)] })).rejects.toThrow(
      "there was another writer",
    );
    await expect(store.append({ events: [text("t2", 2n)] })).rejects.toThrow(
      "there was another writer",
    );
    expect(await sequences(store, "t1", 0n)).toEqual([1n]);
  });

  it("lets one of two concurrent writers of the same sequence win, and does not affect others", async () => {
    await using store = await open();
    await store.append({ events: [created("t1")] });
    const outcomes = await Promise.allSettled([
      store.append({ events: [text("t1", 2n)] }),
      store.append({ events: [text("t1", 2n)] }),
      store.append({ events: [created("t2")] }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
    expect(await sequences(store, "t1", 0n)).toEqual([1n, 2n]);
  });

  it("rejects events of which one is missing, duplicated or of another task", async () => {
    await using store = await open();
    await expect(
      store.append({ events: [created("t1"), text("t1", 3n)] }),
    ).rejects.toMatchObject({ code: Code.Aborted });
    await expect(
      store.append({ events: [created("t1"), text("t1", 1n)] }),
    ).rejects.toMatchObject({ code: Code.Aborted });
    await expect(
      store.append({ events: [created("t1"), text("t2", 2n)] }),
    ).rejects.toMatchObject({ code: Code.Aborted });
    expect(await sequences(store, "t1", 0n)).toEqual([]);
  });

  it("numbers and chains audit records over all tasks, with the events they explain (S13)", async () => {
    await using store = await open();
    await store.append({
      events: [created("t1")],
      audit: [record("t1"), record("t1")],
    });
    await store.append({ events: [created("t2")], audit: [record("t2")] });
    await expect(
      store.append({ events: [created("t2")], audit: [record("t2")] }),
    ).rejects.toThrow("there was another writer");
    const records = await Array.fromAsync(store.readAudit(0n));
    expect(records.map(({ number, taskId }) => `${number} ${taskId}`)).toEqual([
      "1 t1",
      "2 t1",
      "3 t2",
    ]);
    expect(
      (await Array.fromAsync(store.readAudit(2n))).map(({ number }) => number),
    ).toEqual([3n]);
    expect(await verifyAudit(store.readAudit(0n))).toMatchObject({
      count: 3n,
      fault: undefined,
    });
  });

  it("chains audit records that come without events, in their order", async () => {
    await using store = await open();
    await store.append({ events: [created("t1")], audit: [record("t1")] });
    await store.append({ events: [], audit: [record("t2"), record("t3")] });
    const records = await Array.fromAsync(store.readAudit(0n));
    expect(records.map(({ number, taskId }) => `${number} ${taskId}`)).toEqual([
      "1 t1",
      "2 t2",
      "3 t3",
    ]);
    expect(await verifyAudit(store.readAudit(0n))).toMatchObject({
      count: 3n,
      fault: undefined,
    });
  });
}

function testAuditTexts(open: OpenTaskStore): void {
  it("keeps what audit records show beside the chain, by task", async () => {
    await using store = await open();
    const shown = '{"a":"\u{1f600}"}';
    const own = { ...record("t1"), shown };
    await store.append({ events: [created("t1")], audit: [own, own] });
    await store.append({ events: [], audit: [{ ...own, taskId: "t2" }] });
    const records = await Array.fromAsync(store.readAudit(0n));
    expect(records.map((each) => each.shown)).toEqual([shown, shown, shown]);
    const [first, second] = records;
    expect(first?.shownDigest).toHaveLength(32);
    expect(second?.shownDigest).toEqual(first?.shownDigest);
    // As a copy has it whose text is gone.
    const gone = { ...own, shown: "", shownDigest: new Uint8Array([1]) };
    await store.append({ events: [], audit: [gone] });
    const [last] = await Array.fromAsync(store.readAudit(3n));
    expect(last?.shown).toBe("");
    expect([...(last?.shownDigest ?? [])]).toEqual([1]);
    expect(await verifyAudit(store.readAudit(0n))).toMatchObject({
      count: 3n,
      fault: expect.stringContaining("what record 4 shows is missing"),
    });
  });
}

function testReadEvents(open: OpenTaskStore): void {
  it("returns each field of an event", async () => {
    await using store = await open();
    await store.append({
      events: [created("t1"), text("t1", 2n, "ab \u{1f600} \0")],
    });
    expect(await eventsOf(store, "t1")).toEqual([
      created("t1"),
      text("t1", 2n, "ab \u{1f600} \0"),
    ]);
  });

  it("keeps what a newer release has in a record, and this one does not know", async () => {
    await using store = await open();
    const events = [created("t1"), text("t1", 2n), text("t1", 3n)].map(
      (event): TaskEvent => ({ ...event, $unknown: UNKNOWN }),
    );
    const content = create(TextContentSchema, { text: "y" });
    const value = { ...content, $unknown: UNKNOWN };
    events.push({ ...text("t1", 4n), payload: { case: "text", value } });
    const audit = [{ ...record("t1"), $unknown: UNKNOWN }];
    await store.append({ events, audit });
    const read = await eventsOf(store, "t1");
    const bytesOf = (event: TaskEvent) =>
      Buffer.from(toBinary(TaskEventSchema, event)).toString("hex");
    expect(read.map(bytesOf)).toEqual(events.map(bytesOf));
    const [kept] = await Array.fromAsync(store.readAudit(0n));
    expect(kept?.$unknown).toMatchObject([{ no: 9999 }]);
    const verdict = await verifyAudit(store.readAudit(0n));
    expect(verdict).toMatchObject({ count: 1n, fault: undefined });
  });

  it("starts in the middle of an append", async () => {
    await using store = await open();
    await store.append({
      events: [created("t1"), text("t1", 2n), text("t1", 3n), text("t1", 4n)],
    });
    await store.append({ events: [text("t1", 5n), text("t1", 6n)] });
    for (let after = 0n; after <= 6n; after++) {
      const rest = [1n, 2n, 3n, 4n, 5n, 6n].filter(
        (sequence) => sequence > after,
      );
      expect(await sequences(store, "t1", after)).toEqual(rest);
    }
  });

  it("yields each event once, wherever a page of bytes ends in the log", async () => {
    await using store = await open();
    // Around the size at which rows and pages end, and far above it.
    const edge = 256 * 1024;
    const sizes = [
      edge - 90,
      1,
      edge,
      edge + 1,
      0,
      edge / 2,
      edge / 2,
      5 * edge,
    ];
    const log = [
      created("t1"),
      ...sizes.map((size, at) => text("t1", BigInt(at + 2), "x".repeat(size))),
    ];
    await store.append({ events: log.slice(0, 4) });
    for (const event of log.slice(4)) await store.append({ events: [event] });
    for (let after = 0n; after <= log.length; after++) {
      const read = await Array.fromAsync(store.readEvents("t1", after));
      expect(read).toEqual(log.slice(Number(after)));
    }
  });

  it("supports a slow reader during appends", async () => {
    await using store = await open();
    await store.append({ events: [created("t1")] });
    const reader = store.readEvents("t1", 0n)[Symbol.asyncIterator]();
    expect((await reader.next()).value?.sequence).toBe(1n);
    for (let sequence = 2n; sequence <= 600n; sequence++) {
      await store.append({ events: [text("t1", sequence)] });
    }
    await reader.return?.();
    expect(await sequences(store, "t1", 590n)).toEqual([
      591n,
      592n,
      593n,
      594n,
      595n,
      596n,
      597n,
      598n,
      599n,
      600n,
    ]);
  });
}

function testReopened(openAt: OpenAt<TaskStore>, keeps: Keeping): void {
  if (keeps === "forgets") {
    it("keeps nothing, as it declares", async () => {
      const place = crypto.randomUUID();
      await fill(openAt, place);
      await using store = await openAt(place);
      expect(await sequences(store, "t1", 0n)).toEqual([]);
      expect((await store.list({ limit: 9 })).tasks).toEqual([]);
    });
    return;
  }

  it("has all that was appended", async () => {
    const place = crypto.randomUUID();
    const before = await fill(openAt, place);
    await using store = await openAt(place);
    expect(await contentsOf(store)).toEqual(before);
  });

  it("goes on where each log and the audit log ended", async () => {
    const place = crypto.randomUUID();
    await fill(openAt, place);
    {
      await using store = await openAt(place);
      const again = { events: [text("t1", 2n)] };
      await expect(store.append(again)).rejects.toMatchObject({
        code: Code.Aborted,
      });
      const next = [text("t1", 4n)];
      await store.append({ events: next, audit: [record("t1")] });
    }
    await using store = await openAt(place);
    expect(await sequences(store, "t1", 0n)).toEqual([1n, 2n, 3n, 4n]);
    expect(await store.findLatest("me", "c")).toEqual(text("t1", 4n));
    const verdict = await verifyAudit(store.readAudit(0n));
    expect(verdict).toMatchObject({ count: 3n, fault: undefined });
  });
}

/** Fills a store, closes it, and returns what it had. */
async function fill(
  openAt: OpenAt<TaskStore>,
  place: string,
): Promise<Readonly<Record<string, unknown>>> {
  await using store = await openAt(place);
  await store.append({ events: [created("t1")], audit: [record("t1")] });
  await store.append({
    events: [labeled("t2", "Fix it", "/w", "ada")],
    audit: [record("t2")],
  });
  await store.append({ events: [text("t1", 2n), message("t1", 3n, "n")] });
  const contents = await contentsOf(store);
  // So that two empty stores are not equal.
  expect(contents).toMatchObject({ latest: message("t1", 3n, "n") });
  return contents;
}

async function contentsOf(
  store: TaskStore,
): Promise<Readonly<Record<string, unknown>>> {
  const first = await store.list({ limit: 1 });
  return {
    events: [await eventsOf(store, "t1"), await eventsOf(store, "t2")],
    pages: [first, await store.list({ limit: 1, cursor: first.cursor })],
    found: (await store.list({ agent: "ada", limit: 9 })).tasks,
    latest: await store.findLatest("me", "c"),
    message: await store.findMessage("me", "n"),
    audit: await Array.fromAsync(store.readAudit(0n)),
  };
}

function testFindLatest(open: OpenTaskStore): void {
  it("finds the last event of the principal's latest task in a context", async () => {
    await using store = await open();
    expect(await store.findLatest("me", "c")).toBeUndefined();
    await store.append({ events: [created("t1")] });
    await store.append({ events: [created("t2")] });
    expect((await store.findLatest("me", "c"))?.taskId).toBe("t2");
    await store.append({ events: [text("t1", 2n), text("t1", 3n)] });
    expect(await store.findLatest("me", "c")).toEqual(text("t1", 3n));
    expect(await store.findLatest("other", "c")).toBeUndefined();
    expect(await store.findLatest("me", "other")).toBeUndefined();
  });

  it("finds it when several tasks changed at once", async () => {
    await using store = await open();
    await Promise.all([
      store.append({ events: [created("t1")] }),
      store.append({ events: [created("t2")] }),
      store.append({ events: [text("t1", 2n)] }),
    ]);
    expect(await store.findLatest("me", "c")).toEqual(text("t1", 2n));
  });

  it("finds it while the tasks of a context take turns", async () => {
    await using store = await open();
    await store.append({ events: [created("t1")] });
    await store.append({ events: [created("t2")] });
    const ends = { t1: 1n, t2: 1n };
    const turns = [["t1"], ["t1"], ["t2"], ["t1", "t2"], ["t2"], ["t1"]];
    for (const turn of turns) {
      const events = turn.map((id) =>
        text(id, id === "t1" ? ++ends.t1 : ++ends.t2),
      );
      await Promise.all(
        events.map((event) => store.append({ events: [event] })),
      );
      expect(await store.findLatest("me", "c")).toEqual(events.at(-1));
    }
  });
}

function testFindMessage(open: OpenTaskStore): void {
  it("finds a message that was appended among other events", async () => {
    await using store = await open();
    await store.append({ events: [created("t1")] });
    await store.append({
      events: [text("t1", 2n), message("t1", 3n, "n"), text("t1", 4n)],
    });
    await store.append({ events: [text("t1", 5n)] });
    expect(await store.findMessage("me", "n")).toEqual(message("t1", 3n, "n"));
  });

  it("finds the latest event that recorded a principal's message", async () => {
    await using store = await open();
    await store.append({ events: [created("t1")] });
    await store.append({ events: [created("t2")] });
    expect((await store.findMessage("me", "m"))?.taskId).toBe("t2");
    expect(await store.findMessage("other", "m")).toBeUndefined();
    expect(await store.findMessage("me", "unknown")).toBeUndefined();
  });

  it("keeps messages of two principals with the same id apart", async () => {
    await using store = await open();
    await store.append({ events: [created("t1", 1, "me")] });
    await store.append({ events: [created("t2", 2, "other")] });
    expect((await store.findMessage("me", "m"))?.taskId).toBe("t1");
    expect((await store.findMessage("other", "m"))?.taskId).toBe("t2");
  });
}

function record(taskId: string): AuditRecord {
  return create(AuditRecordSchema, { taskId });
}
