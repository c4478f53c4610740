import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { create, toJsonString } from "@bufbuild/protobuf";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  type AuditRecord,
  AuditRecordSchema,
  PushProgressSchema,
  PushSubscriptionSchema,
  TaskEventSchema,
} from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import { Code } from "../errors.ts";
import { created, eventsOf, text } from "../testing/task-events.ts";
import { copyStore } from "./copy-store.ts";
import { MemoryTaskStore } from "./memory-task-store.ts";
import { SqliteTaskStore } from "./sqlite-task-store.ts";
import type { TaskAppend } from "./task-store.ts";
import { verifyAudit } from "./verify-audit.ts";

const signal = new AbortController().signal;

describe("copyStore", () => {
  let directory: string;
  beforeEach(() => {
    directory = temporaryDirectory();
  });

  const file = () => join(directory, "tasks.db");

  it("copies tasks, push configs and the audit log with its numbers and hashes, there and back", async () => {
    await using from = new MemoryTaskStore();
    await fill(from);
    await using sqlite = await SqliteTaskStore.open(file());
    const copy = await copyStore(from, sqlite, signal);
    expect(copy).toEqual({
      tasks: 602,
      events: 1501,
      pushConfigs: 2,
      audit: await verifyAudit(from.readAudit(0n)),
    });
    await using back = new MemoryTaskStore();
    expect(await copyStore(sqlite, back, signal)).toEqual(copy);
    for (const store of [sqlite, back]) await expectSame(store, from);
  });

  it("copies an empty store", async () => {
    const audit = { count: 0n, head: "", fault: undefined, deleted: [] };
    const copy = await copyStore(
      new MemoryTaskStore(),
      new MemoryTaskStore(),
      signal,
    );
    expect(copy).toEqual({ tasks: 0, events: 0, pushConfigs: 0, audit });
  });

  it("refuses a target that has a task or an audit record, and writes nothing into it", async () => {
    await using from = new MemoryTaskStore();
    await from.append({ events: [created("t1")] });
    await using withTask = new MemoryTaskStore();
    await withTask.append({ events: [created("t2")] });
    await using withRecord = new MemoryTaskStore();
    await withRecord.append({ events: [], audit: [record("t2")] });
    for (const to of [withTask, withRecord]) {
      await expect(copyStore(from, to, signal)).rejects.toMatchObject({
        code: Code.FailedPrecondition,
        message:
          "the target of the copy has tasks already: choose an empty directory or schema",
      });
      expect(await eventsOf(to, "t1")).toEqual([]);
    }
  });

  it("refuses a source whose audit log was tampered with", async () => {
    await using from = await SqliteTaskStore.open(file());
    await from.append({
      events: [created("t1")],
      audit: [record("t1"), record("t1"), record("t1")],
    });
    await from[Symbol.asyncDispose]();
    const database = new DatabaseSync(file());
    database.exec("DELETE FROM audit WHERE number = 2");
    database.close();
    await using tampered = await SqliteTaskStore.open(file());
    await using to = new MemoryTaskStore();
    await expect(copyStore(tampered, to, signal)).rejects.toMatchObject({
      code: Code.DataLoss,
      message: expect.stringContaining("record 2 is missing"),
    });
    expect((await to.list({ limit: 1 })).tasks).toEqual([]);
  });

  it("fails when the source is written meanwhile", async () => {
    await using from = new MemoryTaskStore();
    await from.append({ events: [created("t1")] });
    await using to = new (class extends MemoryTaskStore {
      override async append(append: TaskAppend): Promise<void> {
        await super.append(append);
        if (append.events[0]?.taskId === "t1") {
          await from.append({ events: [text("t1", 2n)] });
        }
      }
    })();
    await expect(copyStore(from, to, signal)).rejects.toThrow(
      "the source has changed while it was copied",
    );
  });

  it("fails when the target does not have what was copied", async () => {
    await using from = new MemoryTaskStore();
    await from.append({
      events: [created("t1"), text("t1", 2n)],
      audit: [record("t1")],
    });
    await using losesEvents = new (class extends MemoryTaskStore {
      override async append({ events, audit }: TaskAppend): Promise<void> {
        await super.append({ events: events.slice(0, 1), audit });
      }
    })();
    await expect(copyStore(from, losesEvents, signal)).rejects.toThrow(
      'task "t1" differs in the copy',
    );
    await using losesAudit = new (class extends MemoryTaskStore {
      override async append({ events }: TaskAppend): Promise<void> {
        await super.append({ events });
      }
    })();
    await expect(copyStore(from, losesAudit, signal)).rejects.toThrow(
      "the audit log differs in the copy",
    );
  });

  it("ends when it is aborted", async () => {
    await using from = new MemoryTaskStore();
    await from.append({ events: [created("t1")] });
    await expect(
      copyStore(from, new MemoryTaskStore(), AbortSignal.abort()),
    ).rejects.toThrow("aborted");
  });
});

/**
 * Fills a store with more tasks, events and records than a page of the copy
 * has.
 */
async function fill(store: MemoryTaskStore): Promise<void> {
  for (let task = 0; task < 600; task++) {
    await store.append({
      events: [created(`t${task}`, task)],
      audit: [record(`t${task}`)],
    });
  }
  const large = text("t7", 2n, "x".repeat(3 * 1024 * 1024));
  const small = Array.from({ length: 898 }, (_, at) =>
    text("t7", BigInt(at + 3)),
  );
  await store.append({ events: [large, ...small] });
  for (const [at, id] of ["older", "newer"].entries()) {
    await store.append({
      events: [
        create(TaskEventSchema, {
          ...created(id, 700 + at),
          contextId: "other",
        }),
      ],
    });
  }
  for (const id of ["a", "b"]) {
    const config = { id, taskId: "t7", url: "https://hook.test/" };
    await store.pushConfigs.put(
      create(PushSubscriptionSchema, { config, progress: {} }),
    );
  }
  const progress = create(PushProgressSchema, {
    cursor: 5n,
    failures: 2,
    endedReason: "gone",
  });
  await store.pushConfigs.saveProgress(
    { taskId: "t7", configId: "b" },
    progress,
  );
}

async function expectSame(
  copy: MemoryTaskStore | SqliteTaskStore,
  original: MemoryTaskStore,
): Promise<void> {
  const [copied, records] = await Promise.all(
    [copy, original].map((store) => Array.fromAsync(store.readAudit(0n))),
  );
  expect(copied?.map((one) => toJsonString(AuditRecordSchema, one))).toEqual(
    records?.map((one) => toJsonString(AuditRecordSchema, one)),
  );
  expect(await copy.list({ limit: 1000 })).toEqual(
    await original.list({ limit: 1000 }),
  );
  expect(await eventsOf(copy, "t7")).toEqual(await eventsOf(original, "t7"));
  expect(await copy.findLatest("me", "other")).toEqual(
    await original.findLatest("me", "other"),
  );
  expect(await copy.pushConfigs.list("t7")).toEqual(
    await original.pushConfigs.list("t7"),
  );
}

function record(taskId: string): AuditRecord {
  return create(AuditRecordSchema, { taskId, sequence: 1n });
}
