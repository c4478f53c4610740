import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  AuditAction,
  type AuditRecord,
  AuditRecordSchema,
  PushConfigSchema,
  PushSubscriptionSchema,
  type TaskEvent,
  TaskEventSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Code } from "../errors.ts";
import type { ServerStore, TaskStore } from "../store/task-store.ts";
import { verifyAudit } from "../store/verify-audit.ts";
import { created, eventsOf, message, sequences, text } from "./task-events.ts";
import type { OpenTaskStore } from "./task-list.contract.ts";

/** The time of deletions, in milliseconds. */
const NOW_MS = 5_000_000;

/** Tests the contract of `TaskStore.delete`. */
export function testDelete(open: OpenTaskStore): void {
  describe("delete", () => {
    testWhole(open);
    testRefusals(open);
    testNeighbours(open);
    testAtRandom(open);
  });
}

function testWhole(open: OpenTaskStore): void {
  it("leaves nothing of a task but its audit records without what they showed, and the deletion", async () => {
    await using store = await open();
    const audit = [shows("t1", "secret")];
    await store.append({ events: [created("t1")], audit });
    await store.append({ events: [], audit: [shows("t2", "kept")] });
    await store.append({ events: [text("t1", 2n), message("t1", 3n, "n")] });
    await store.delete(deletion("t1", 3n));
    expect(await eventsOf(store, "t1")).toEqual([]);
    expect((await store.list({ limit: 9 })).tasks).toEqual([]);
    expect(await store.findLatest("me", "c")).toBeUndefined();
    const records = await Array.fromAsync(store.readAudit(0n));
    expect(records.map(({ shown }) => shown)).toEqual(["", "kept", ""]);
    expect(await verifyAudit(store.readAudit(0n))).toMatchObject({
      count: 3n,
      fault: undefined,
      deleted: [{ taskId: "t1", by: "me", time: new Date(NOW_MS), texts: 1 }],
    });
  });

  it("is explained to a reader of the audit log whom it overtakes", async () => {
    await using store = await open();
    const audit = ["one", "two", "three"].map((text) => shows("t1", text));
    await store.append({ events: [created("t1")], audit });
    async function* overtaken(): AsyncIterable<AuditRecord> {
      for await (const record of store.readAudit(0n)) {
        yield record;
        if (record.number === 1n) await store.delete(deletion("t1", 1n));
      }
    }
    const { count, fault } = await verifyAudit(overtaken());
    expect(fault).toBeUndefined();
    expect(count).toBeGreaterThanOrEqual(3n);
  });

  it("removes push configs with their progress", async () => {
    await using store = await open();
    // A store of another part's tests has none.
    if (!hasPushConfigs(store)) return;
    for (const taskId of ["t1", "t2"]) {
      await store.append({ events: [created(taskId)] });
      const config = create(PushConfigSchema, { taskId, id: "a" });
      await store.pushConfigs.put(create(PushSubscriptionSchema, { config }));
    }
    await store.delete(deletion("t1", 1n));
    expect(await store.pushConfigs.list("t1")).toEqual([]);
    expect(await store.pushConfigs.list("t2")).toHaveLength(1);
  });

  it("keeps the ids of messages for a day, as those of a deleted task", async () => {
    await using store = await open();
    await store.append({ events: [created("t1"), message("t1", 2n, "n")] });
    await store.delete(deletion("t1", 2n));
    const gone = create(TaskEventSchema, {
      taskId: "t1",
      time: timestampFromMs(NOW_MS),
    });
    expect(await store.findMessage("me", "m")).toEqual(gone);
    expect(await store.findMessage("me", "n")).toEqual(gone);
    expect(await store.findMessage("other", "m")).toBeUndefined();
    // Another task may have the id and the messages then.
    await store.append({ events: [created("t1")] });
    expect(await store.findMessage("me", "m")).toEqual(created("t1"));
    expect(await sequences(store, "t1", 0n)).toEqual([1n]);
  });
}

function testRefusals(open: OpenTaskStore): void {
  it("is refused for another last event and an unknown task, and changes nothing", async () => {
    await using store = await open();
    const audit = [shows("t1", "x")];
    await store.append({ events: [created("t1"), text("t1", 2n)], audit });
    for (const refused of [deletion("t1", 1n), deletion("t1", 3n)]) {
      await expect(store.delete(refused)).rejects.toMatchObject({
        code: Code.Aborted,
        message: expect.stringContaining("it has changed or is gone"),
      });
    }
    await expect(store.delete(deletion("no", 1n))).rejects.toMatchObject({
      code: Code.Aborted,
    });
    expect(await sequences(store, "t1", 0n)).toEqual([1n, 2n]);
    const verdict = await verifyAudit(store.readAudit(0n));
    expect(verdict).toMatchObject({ count: 1n, fault: undefined, deleted: [] });
  });

  it("lets one of a deletion and an append win that come together", async () => {
    await using store = await open();
    for (let round = 0; round < 20; round++) {
      const id = `t${round}`;
      await store.append({ events: [created(id)] });
      const append = () => store.append({ events: [text(id, 2n)] });
      const remove = () => store.delete(deletion(id, 1n));
      const both = round % 2 === 0 ? [append, remove] : [remove, append];
      const outcomes = await Promise.allSettled(both.map((each) => each()));
      const won = outcomes.filter(({ status }) => status === "fulfilled");
      expect(won).toHaveLength(1);
      const { length } = await eventsOf(store, id);
      const isKept = (round % 2 === 0 ? outcomes[0] : outcomes[1])?.status;
      expect(length).toBe(isKept === "fulfilled" ? 2 : 0);
    }
  });

  it("is refused an append that follows the log that was", async () => {
    await using store = await open();
    await store.append({ events: [created("t1")] });
    await store.delete(deletion("t1", 1n));
    await expect(
      store.append({ events: [text("t1", 2n)] }),
    ).rejects.toMatchObject({ code: Code.Aborted });
    expect(await eventsOf(store, "t1")).toEqual([]);
  });
}

function testNeighbours(open: OpenTaskStore): void {
  it("makes the task of the context that changed last before it the latest", async () => {
    await using store = await open();
    await store.append({ events: [created("t1", 1)] });
    await store.append({ events: [created("t2", 3)] });
    await store.append({ events: [created("t3", 2)] });
    await store.append({ events: [created("t4", 4)] });
    await store.append({ events: [created("t5", 5, "other")] });
    await store.delete(deletion("t4", 1n));
    expect((await store.findLatest("me", "c"))?.taskId).toBe("t2");
    await store.delete(deletion("t3", 1n));
    expect((await store.findLatest("me", "c"))?.taskId).toBe("t2");
    await store.delete(deletion("t2", 1n));
    expect((await store.findLatest("me", "c"))?.taskId).toBe("t1");
    await store.delete(deletion("t1", 1n));
    expect(await store.findLatest("me", "c")).toBeUndefined();
    expect((await store.findLatest("other", "c"))?.taskId).toBe("t5");
  });
}

/** What a store should have, in the plainest form. */
class Model {
  readonly logs = new Map<string, TaskEvent[]>();
  records = 0n;
}

function testAtRandom(open: OpenTaskStore): void {
  it("agrees with a model over random appends and deletions", async () => {
    await using store = await open();
    const model = new Model();
    const next = randomFrom(42);
    for (let step = 0; step < 300; step++) {
      const id = `t${Math.floor(next() * 8)}`;
      const log = model.logs.get(id) ?? [];
      if (log.length > 0 && next() < 0.3) {
        await store.delete(deletion(id, BigInt(log.length)));
        model.logs.delete(id);
        model.records++;
      } else {
        const event =
          log.length === 0
            ? created(id, step)
            : text(id, BigInt(log.length + 1), `${step}`);
        const audit = next() < 0.5 ? [shows(id, `shown ${step}`)] : [];
        await store.append({ events: [event], audit });
        model.logs.set(id, [...log, event]);
        model.records += BigInt(audit.length);
      }
      if (step % 20 !== 0) continue;
      for (let at = 0; at < 8; at++) {
        const expected = model.logs.get(`t${at}`) ?? [];
        expect(await eventsOf(store, `t${at}`)).toEqual(expected);
      }
      const { tasks } = await store.list({ limit: 9 });
      const ids = tasks.map(({ last }) => last.taskId).toSorted();
      expect(ids).toEqual([...model.logs.keys()].toSorted());
      const { count, fault } = await verifyAudit(store.readAudit(0n));
      expect({ count, fault }).toEqual({
        count: model.records,
        fault: undefined,
      });
    }
  });
}

/** A small generator of numbers from 0 to 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

function hasPushConfigs(store: TaskStore): store is ServerStore {
  return "pushConfigs" in store;
}

function deletion(taskId: string, sequence: bigint) {
  const record = create(AuditRecordSchema, {
    action: AuditAction.TASK_DELETED,
    time: timestampFromMs(NOW_MS),
    principal: "me",
    taskId,
    sequence,
  });
  return { taskId, sequence, record };
}

function shows(taskId: string, shown: string): AuditRecord {
  return create(AuditRecordSchema, { taskId, shown });
}
