import { mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { create } from "@bufbuild/protobuf";
import { sizeDelimitedEncode } from "@bufbuild/protobuf/wire";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { TaskEventSchema } from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Code } from "../errors.ts";
import { openDatabase } from "./sqlite-database.ts";
import { SqliteTaskStore, TASK_SCHEMA } from "./sqlite-task-store.ts";
import { created, eventsOf, testTaskStore, text } from "./task-store.contract.ts";

describe("SqliteTaskStore", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "devtool-store-"));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  testTaskStore(() => SqliteTaskStore.open(join(directory, "tasks.db")));

  it("refuses a file that another server uses, and names it", async () => {
    await using _first = await SqliteTaskStore.open(join(directory, "tasks.db"));
    await expect(SqliteTaskStore.open(join(directory, "tasks.db"))).rejects.toThrow(
      /tasks\.db" is in use by another server/,
    );
  });

  it("refuses a file that is damaged, and leaves it as it is", async () => {
    const path = join(directory, "tasks.db");
    writeFileSync(path, "this is no database, whatever its name says ".repeat(100));
    await expect(SqliteTaskStore.open(path)).rejects.toThrow(/tasks\.db" is damaged/);
  });

  it("refuses a file of a newer release", async () => {
    const path = join(directory, "tasks.db");
    const database = new DatabaseSync(path);
    database.exec("PRAGMA user_version = 99");
    database.close();
    await expect(SqliteTaskStore.open(path)).rejects.toThrow("was written by a newer release (layout 99)");
  });

  it("reads a file of layout 1, in which a row was its events, each behind its size", async () => {
    const path = join(directory, "tasks.db");
    const kept = [created("t1"), text("t1", 2n, "one"), text("t1", 3n, "two")];
    const database = await openDatabase(path, TASK_SCHEMA);
    const put = database.prepare("INSERT INTO event (task_id, sequence, data) VALUES ('t1', ?, ?)");
    const sized = kept.map((event) => sizeDelimitedEncode(TaskEventSchema, event));
    for (const [sequence, row] of [sized.slice(0, 1), sized.slice(1)].entries())
      put.run(1 + 2 * sequence, Buffer.concat(row));
    database.exec("INSERT INTO event (task_id, sequence, data) VALUES ('damaged', 1, x'05ff')");
    database.exec("PRAGMA user_version = 1");
    database.close();
    await using store = await SqliteTaskStore.open(path);
    expect(await eventsOf(store, "t1")).toEqual(kept);
    await expect(eventsOf(store, "damaged")).rejects.toMatchObject({ code: Code.DataLoss });
  });

  it("refuses a directory that is not there", async () => {
    await expect(SqliteTaskStore.open(join(directory, "missing", "tasks.db"))).rejects.toThrow("cannot be opened");
  });

  it("refuses a file that was cut", async () => {
    const path = join(directory, "tasks.db");
    await fill(path, 2000);
    truncateSync(path, statSync(path).size / 2);
    await expect(SqliteTaskStore.open(path)).rejects.toThrow(/tasks\.db" is damaged/);
  });

  it("gives a file back that it refused", async () => {
    const path = join(directory, "tasks.db");
    const database = new DatabaseSync(path);
    database.exec("PRAGMA user_version = 99");
    await expect(SqliteTaskStore.open(path)).rejects.toThrow("newer release");
    database.exec("PRAGMA user_version = 0");
    database.close();
    await using _store = await SqliteTaskStore.open(path);
  });

  it("keeps what was appended when it is closed and opened again", async () => {
    const path = join(directory, "tasks.db");
    await fill(path, 3);
    await using store = await SqliteTaskStore.open(path);
    expect(await eventsOf(store, "t1")).toHaveLength(3);
    await expect(store.append([text("t1", 3n)])).rejects.toMatchObject({ code: Code.Aborted });
    await store.append([text("t1", 4n)]);
  });

  it("fails an event that cannot be written alone, not those that share its commit", async () => {
    await using store = await SqliteTaskStore.open(join(directory, "tasks.db"));
    const good = store.append([created("t1")]);
    const bad = store.append([{ ...created("t2"), time: create(TimestampSchema, { seconds: 2n ** 70n }) }]);
    const next = store.append([text("t1", 2n)]);
    expect((await Promise.allSettled([good, bad, next])).map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "fulfilled",
    ]);
  });

  it("tells when a row is no event", async () => {
    const database = await openDatabase(join(directory, "tasks.db"), TASK_SCHEMA);
    database.exec("INSERT INTO event (task_id, sequence, data) VALUES ('t1', 1, x'ffff')");
    await using store = new SqliteTaskStore(database);
    await expect(eventsOf(store, "t1")).rejects.toMatchObject({ code: Code.DataLoss });
  });

  it("writes what is queued when it is closed, and takes nothing after that", async () => {
    const store = await SqliteTaskStore.open(join(directory, "tasks.db"));
    const queued = store.append([created("t1")]);
    await store[Symbol.asyncDispose]();
    await expect(queued).resolves.toBeUndefined();
    await expect(store.append([text("t1", 2n)])).rejects.toMatchObject({ code: Code.Unavailable });
    await store[Symbol.asyncDispose]();
  });

  it("tells that the disk is full, keeps nothing of what did not fit, and goes on when there is space", async () => {
    const path = join(directory, "tasks.db");
    const database = await openDatabase(path, TASK_SCHEMA);
    database.exec("PRAGMA max_page_count = 40");
    await using store = new SqliteTaskStore(database);
    await store.append([created("t1")]);
    const large = [text("t1", 2n, "x".repeat(1_000_000))];
    const both = await Promise.allSettled([store.append(large), store.append([created("t2")])]);
    const full = { reason: { code: Code.ResourceExhausted } };
    expect(both).toMatchObject([full, full]);
    await store.append([text("t1", 2n)]);
    expect(await eventsOf(store, "t1")).toHaveLength(2);
    expect(await eventsOf(store, "t2")).toEqual([]);
  });
});

async function fill(path: string, count: number): Promise<void> {
  await using store = await SqliteTaskStore.open(path);
  await store.append([created("t1")]);
  for (let sequence = 2; sequence <= count; sequence++) void store.append([text("t1", BigInt(sequence))]);
}
