import { createHash } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  copyFileSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { sizeDelimitedEncode } from "@bufbuild/protobuf/wire";
import { TimestampSchema } from "@bufbuild/protobuf/wkt";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  AuditRecordSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Code } from "../errors.ts";
import {
  created,
  eventsOf,
  labeled,
  message,
  text,
} from "../testing/task-events.ts";
import { testTaskStore } from "../testing/task-store.contract.ts";
import { LAYOUT } from "./layout.ts";
import { encodeCursor } from "./list-position.ts";
import { openDatabase } from "./sqlite-database.ts";
import { SqliteDeletion } from "./sqlite-deletion.ts";
import { readList, readRows } from "./sqlite-list.ts";
import { SqliteTaskStore } from "./sqlite-task-store.ts";
import { TASK_SCHEMA } from "./task-schema.ts";
import { prepareTaskStatements } from "./task-statements.ts";
import { verifyAudit } from "./verify-audit.ts";

/** A task of which a part is left when its deletion is committed. */
async function appendLarge(store: SqliteTaskStore): Promise<void> {
  await store.append({ events: [created("t1")] });
  for (let sequence = 2n; sequence <= LARGE.sequence; sequence++) {
    const event = text("t1", sequence, "secret".repeat(20_000));
    await store.append({ events: [event] });
  }
}

const LARGE = {
  ...{ taskId: "t1", sequence: 9n },
  record: create(AuditRecordSchema, { taskId: "t1" }),
};

/** Calls a function before a statement of a database that has a word. */
function withStatement(
  database: DatabaseSync,
  word: string,
  before: () => void,
): DatabaseSync {
  const prepare = database.prepare.bind(database);
  database.prepare = (sql) => {
    const statement = prepare(sql);
    if (!sql.includes(word)) return statement;
    const [get, run] = [
      statement.get.bind(statement),
      statement.run.bind(statement),
    ];
    statement.get = () => {
      before();
      return get();
    };
    statement.run = () => {
      before();
      return run();
    };
    return statement;
  };
  return database;
}

/** Takes from a file what is new in layout 9. */
const SINCE_9 = `
  DROP INDEX task_in_time; ALTER TABLE task DROP COLUMN title_key; DROP INDEX label_by_workspace; DROP INDEX label_by_agent;
  ALTER TABLE label ADD COLUMN title_key TEXT NOT NULL DEFAULT ''; UPDATE label SET title_key = lower(title);
  CREATE INDEX task_by_time ON task (principal, time_ms DESC, id DESC); CREATE INDEX label_by_title ON label (title_key)`;
/** Takes from a file what is new in layout 8, and since. */
const SINCE_8 = `DROP TABLE task_head; ${SINCE_9}`;
/** Takes from a file what is new in layout 7, and since. */
const SINCE_7 = `ALTER TABLE task DROP COLUMN bytes; DROP TABLE deleted_task; ${SINCE_8}`;

describe("SqliteTaskStore", () => {
  let directory: string;
  beforeEach(() => {
    directory = temporaryDirectory();
  });

  testTaskStore((place) => SqliteTaskStore.open(join(directory, place)));

  it("reads large rows in pages limited by bytes, and lets others run between them (R5)", async () => {
    await using store = await SqliteTaskStore.open(join(directory, "tasks.db"));
    const size = 100_000;
    const log = [
      created("t1"),
      ...Array.from({ length: 40 }, (_, at) =>
        text("t1", BigInt(at + 2), "x".repeat(size)),
      ),
    ];
    for (const event of log) await store.append({ events: [event] });
    const read = await bytesByTurn(store.readEvents("t1", 0n));
    expect(read.reduce((sum, bytes) => sum + bytes, 0)).toBe(40 * size);
    expect(Math.max(...read)).toBeLessThanOrEqual(256 * 1024 + size);
  });

  it("stores a large append atomically in several rows, and finds its messages and its end (R5)", async () => {
    await using store = await SqliteTaskStore.open(join(directory, "tasks.db"));
    const large = Array.from({ length: 20 }, (_, at) =>
      text("t1", BigInt(at + 2), "x".repeat(100_000)),
    );
    const log = [created("t1"), ...large];
    await store.append({ events: log });
    expect(await eventsOf(store, "t1")).toEqual(log);
    expect(
      (await store.list({ limit: 1 })).tasks.map(({ last }) => last),
    ).toEqual(log.slice(-1));
    expect(
      Math.max(...(await bytesByTurn(store.readEvents("t1", 3n)))),
    ).toBeLessThanOrEqual(600_000);
    await expect(store.append({ events: large })).rejects.toMatchObject({
      code: Code.Aborted,
    });
    expect(await eventsOf(store, "t1")).toEqual(log);
  });

  it("does not write the index of states for an event that keeps the state (R17)", async () => {
    await using store = await SqliteTaskStore.open(join(directory, "tasks.db"));
    await store.append({ events: [created("t1")] });
    await store.append({ events: [text("t1", 2n)] });
    const page = 4096 + 24;
    const before = statSync(join(directory, "tasks.db-wal")).size;
    await store.append({ events: [text("t1", 3n)] });
    expect(
      (statSync(join(directory, "tasks.db-wal")).size - before) / page,
    ).toBe(4);
    expect(
      (await store.list({ limit: 1, state: TaskState.WORKING })).tasks,
    ).toHaveLength(1);
  });

  it("finds the latest task of a context by keys only, so that its other tasks cost nothing", async () => {
    const database = await openDatabase(
      join(directory, "tasks.db"),
      TASK_SCHEMA,
    );
    const { sourceSQL } = prepareTaskStatements(database).findLatest;
    const steps = database
      .prepare(`EXPLAIN QUERY PLAN ${sourceSQL}`)
      .all("me", "c");
    expect(
      steps.map(({ detail }) => String(detail).replace(/INDEX \w+/, "INDEX")),
    ).toEqual([
      "SEARCH context USING PRIMARY KEY (principal=? AND id=?)",
      "SEARCH task USING PRIMARY KEY (id=?)",
      "SEARCH event USING INDEX (task_id=? AND sequence=?)",
    ]);
    database.close();
  });

  it("refuses a file that another server uses, and names it", async () => {
    await using _first = await SqliteTaskStore.open(
      join(directory, "tasks.db"),
    );
    await expect(
      SqliteTaskStore.open(join(directory, "tasks.db")),
    ).rejects.toThrow(/tasks\.db" is in use by another server/);
  });

  it("refuses a damaged file, and leaves it unchanged", async () => {
    const path = join(directory, "tasks.db");
    writeFileSync(
      path,
      "this is not a database, whatever its name says ".repeat(100),
    );
    await expect(SqliteTaskStore.open(path)).rejects.toThrow(
      /tasks\.db" is damaged/,
    );
  });

  it("refuses a file of a newer release", async () => {
    const path = join(directory, "tasks.db");
    const database = new DatabaseSync(path);
    database.exec(`PRAGMA user_version = ${LAYOUT + 1}`);
    database.close();
    await expect(SqliteTaskStore.open(path)).rejects.toThrow(
      `was written by a newer release (layout ${LAYOUT + 1})`,
    );
  });

  it("reads a file of layout 1, whose rows are length-prefixed events", async () => {
    const path = join(directory, "tasks.db");
    const kept = [created("t1"), text("t1", 2n, "one"), text("t1", 3n, "two")];
    const database = await openDatabase(path, TASK_SCHEMA);
    const put = database.prepare(
      "INSERT INTO event (task_id, sequence, data) VALUES ('t1', ?, ?)",
    );
    const sized = kept.map((event) =>
      sizeDelimitedEncode(TaskEventSchema, event),
    );
    for (const [sequence, row] of [
      sized.slice(0, 1),
      sized.slice(1),
    ].entries()) {
      put.run(1 + 2 * sequence, Buffer.concat(row));
    }
    database.exec(
      "INSERT INTO event (task_id, sequence, data) VALUES ('damaged', 1, x'05ff')",
    );
    database.exec(
      `${SINCE_7}; ALTER TABLE task DROP COLUMN messages; PRAGMA user_version = 1`,
    );
    database.close();
    await using store = await SqliteTaskStore.open(path);
    expect(await eventsOf(store, "t1")).toEqual(kept);
    await expect(eventsOf(store, "damaged")).rejects.toMatchObject({
      code: Code.DataLoss,
    });
  });

  it("finds the latest task of each context in a file of layout 2, which does not store it", async () => {
    const path = join(directory, "tasks.db");
    {
      await using store = await SqliteTaskStore.open(path);
      await store.append({ events: [created("t1", 1)] });
      await store.append({ events: [created("t2", 3)] });
      await store.append({ events: [created("t3", 2)] });
    }
    const database = new DatabaseSync(path);
    database.exec(
      `${SINCE_7}; DROP TABLE context; ALTER TABLE task DROP COLUMN messages; PRAGMA user_version = 2`,
    );
    database.close();
    await using store = await SqliteTaskStore.open(path);
    expect((await store.findLatest("me", "c"))?.taskId).toBe("t2");
  });

  it("U11: counts the messages of a file of layout 4, which does not store them", async () => {
    const path = join(directory, "tasks.db");
    {
      await using store = await SqliteTaskStore.open(path);
      await store.append({
        events: [created("t1", 3), message("t1", 2n, "m2")],
      });
      await store.append({ events: [message("t1", 3n, "m3")] });
      await store.append({ events: [created("t2", 1)] });
    }
    const database = new DatabaseSync(path);
    database.exec(
      `${SINCE_7}; ALTER TABLE task DROP COLUMN messages; PRAGMA user_version = 4`,
    );
    database.close();
    await using store = await SqliteTaskStore.open(path);
    await store.append({ events: [message("t2", 2n, "m4")] });
    const { tasks } = await store.list({ limit: 9 });
    expect(
      tasks.map(({ last, messageCount }) => [last.taskId, messageCount]),
    ).toEqual([
      ["t2", 2],
      ["t1", 3],
    ]);
  });

  it("labels the tasks of a file of layout 3, except one whose first row is damaged", async () => {
    const path = join(directory, "tasks.db");
    {
      await using store = await SqliteTaskStore.open(path);
      await store.append({
        events: [labeled("t1", "Fix it", "/w", "one"), text("t1", 2n)],
      });
      await store.append({ events: [labeled("t2", "Lost", "/w", "one", 3)] });
    }
    const database = new DatabaseSync(path);
    database.exec("UPDATE event SET data = x'ffff' WHERE task_id = 't2'");
    database.exec(
      `${SINCE_7}; DROP TABLE label; ALTER TABLE task DROP COLUMN messages; PRAGMA user_version = 3`,
    );
    database.close();
    await using store = await SqliteTaskStore.open(path);
    const { tasks } = await store.list({ limit: 9, titleContains: "fix" });
    expect(tasks).toMatchObject([
      {
        title: "Fix it",
        workspacePath: "/w",
        agent: "one",
        last: { sequence: 2n },
      },
    ]);
    expect(
      (await store.list({ limit: 9, titleContains: "lost" })).tasks,
    ).toEqual([]);
  });

  it("moves what is shown out of the audit chain of a file of layout 5, and leaves a fault in it", async () => {
    const path = join(directory, "tasks.db");
    await (await SqliteTaskStore.open(path))[Symbol.asyncDispose]();
    const database = new DatabaseSync(path);
    const put = database.prepare("INSERT INTO audit VALUES (?, ?)");
    let previousHash = new Uint8Array();
    for (let number = 1n; number <= 300n; number++) {
      const fields = { number, previousHash, taskId: `t${number}` };
      const record = create(AuditRecordSchema, {
        ...fields,
        shown: number % 2n === 0n ? "" : `text ${number}`,
      });
      // As the release before hashed it: with what is shown.
      const data = toBinary(AuditRecordSchema, record);
      previousHash = createHash("sha256").update(data).digest();
      record.hash = previousHash;
      put.run(number, toBinary(AuditRecordSchema, record));
    }
    database.exec(
      `${SINCE_7}; DROP TABLE audit_shown; PRAGMA user_version = 5`,
    );
    database.close();
    const broken = join(directory, "broken.db");
    copyFileSync(path, broken);
    {
      await using store = await SqliteTaskStore.open(path);
      expect(await verifyAudit(store.readAudit(0n))).toMatchObject({
        count: 300n,
        fault: undefined,
      });
      const records = await Array.fromAsync(store.readAudit(0n));
      expect(records.slice(0, 3).map(({ shown }) => shown)).toEqual([
        "text 1",
        "",
        "text 3",
      ]);
    }
    const damaged = new DatabaseSync(broken);
    damaged.exec(
      "UPDATE audit SET data = unhex(replace(hex(data), hex('text 271'), hex('evil 271'))) WHERE number = 271",
    );
    damaged.close();
    await using store = await SqliteTaskStore.open(broken);
    expect(await verifyAudit(store.readAudit(0n))).toMatchObject({
      count: 270n,
      fault: "record 271 does not follow the one before",
    });
  });

  it("sums up the events of a file of layout 6, which does not store their sizes", async () => {
    const path = join(directory, "tasks.db");
    const long = "x".repeat(300_000);
    {
      await using store = await SqliteTaskStore.open(path);
      await store.append({ events: [created("t1"), text("t1", 2n)] });
      await store.append({ events: [text("t1", 3n, long)] });
      await store.append({ events: [created("t2")] });
    }
    const database = new DatabaseSync(path);
    const sizes = database.prepare("SELECT id, bytes FROM task").all();
    database.exec(`${SINCE_7}; PRAGMA user_version = 6`);
    database.close();
    await using store = await SqliteTaskStore.open(path);
    const read = await Array.fromAsync(store.readSizes());
    expect(read.map(({ taskId: id, bytes }) => ({ id, bytes }))).toEqual(
      sizes.map((row) => ({ ...row })),
    );
    expect(read[0]?.bytes).toBeGreaterThan(long.length);
  });

  it("keeps heads in a file of layout 7, which has none", async () => {
    const path = join(directory, "tasks.db");
    {
      await using store = await SqliteTaskStore.open(path);
      await store.append({ events: [created("t1")] });
    }
    const database = new DatabaseSync(path);
    database.exec(`${SINCE_8}; PRAGMA user_version = 7`);
    database.close();
    await using store = await SqliteTaskStore.open(path);
    expect(await store.readHead("t1")).toBeUndefined();
    const head = { taskId: "t1", sequence: 1n, data: new Uint8Array([8]) };
    await store.putHead(head);
    expect(await store.readHead("t1")).toEqual(head.data);
  });

  it("finds titles of a file of layout 8, which had them elsewhere", async () => {
    const path = join(directory, "tasks.db");
    {
      await using store = await SqliteTaskStore.open(path);
      await store.append({ events: [labeled("t1", "Ｆix ÄLL", "/w", "one")] });
      await store.append({ events: [labeled("t2", "Other", "/w", "two", 2)] });
    }
    const database = new DatabaseSync(path);
    database.exec(`${SINCE_9}; PRAGMA user_version = 8`);
    database.close();
    await using store = await SqliteTaskStore.open(path);
    const { tasks } = await store.list({ titleContains: "fix ä", limit: 9 });
    expect(tasks.map(({ title }) => title)).toEqual(["Ｆix ÄLL"]);
  });

  it("looks for titles and states in one index, in the order of lists", async () => {
    const database = await openDatabase(
      join(directory, "tasks.db"),
      TASK_SCHEMA,
    );
    const statements = vi.spyOn(database, "prepare");
    const query = { principal: "me", titleContains: "q", state: 2, limit: 9 };
    // Whether the tasks in a state are few decides how they are found.
    readRows(database, query, false);
    const [sql = ""] = statements.mock.lastCall ?? [];
    const steps = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
    expect(steps.map(({ detail }) => detail)).toContain(
      "SEARCH task USING COVERING INDEX task_in_time (principal=?)",
    );
    database.close();
  });

  it("lists the tasks of all principals by one statement, however many there are", async () => {
    const path = join(directory, "tasks.db");
    {
      await using store = await SqliteTaskStore.open(path);
      const tasks = Array.from({ length: 60 }, (_, at) =>
        created(`t${at}`, at, `p${at % 30}`),
      );
      await Promise.all(
        tasks.map((event) => store.append({ events: [event] })),
      );
    }
    const database = new DatabaseSync(path);
    const statements = vi.spyOn(database, "prepare");
    const cursor = encodeCursor({ timeMs: 30_000, taskId: "" });
    const rows = readList(database, { limit: 9, cursor });
    expect(rows.map(({ id }) => id)).toEqual(
      Array.from({ length: 10 }, (_, at) => `t${29 - at}`),
    );
    expect(statements).toHaveBeenCalledOnce();
    database.close();
  });

  it("removes a large task from readers at once, and its rows a part at a time, also after a start", async () => {
    const path = join(directory, "tasks.db");
    const deletion = {
      ...{ taskId: "t1", sequence: 500n },
      record: create(AuditRecordSchema, { taskId: "t1" }),
    };
    const left = (): unknown[] => {
      using database = new DatabaseSync(path);
      return ["event", "message", "audit_shown", "deleted_task"].map(
        (table) => {
          const sql = `SELECT count(*) AS count FROM ${table} WHERE task_id = 't1'`;
          return database.prepare(sql).get()?.count;
        },
      );
    };
    {
      await using store = await SqliteTaskStore.open(path);
      const shown = create(AuditRecordSchema, {
        taskId: "t1",
        shown: "secret",
      });
      await store.append({ events: [created("t1")], audit: [shown] });
      await store.append({ events: [created("t2")] });
      for (let sequence = 2n; sequence <= 500n; sequence++) {
        const event =
          sequence <= 300n
            ? message("t1", sequence, `m${sequence}`)
            : text("t1", sequence, "secret".repeat(1000));
        await store.append({ events: [event] });
      }
      await store.delete(deletion);
    }
    // The store was closed before the rest was erased.
    expect(left()).toEqual([500, 43, 1, 1]);
    {
      await using store = await SqliteTaskStore.open(path);
      expect(await eventsOf(store, "t1")).toEqual([]);
      expect(await store.findMessage("me", "m300")).toMatchObject({
        payload: { case: undefined },
      });
      const records = await Array.fromAsync(store.readAudit(0n));
      expect(records.map(({ shown }) => shown)).toEqual(["", ""]);
      const isErased = (): boolean => !readFileSync(path).includes("secret");
      await vi.waitFor(() => expect(isErased()).toBe(true), 60_000);
    }
    expect(left()).toEqual([0, 0, 0, 0]);
    await using store = await SqliteTaskStore.open(path);
    expect(await store.findMessage("me", "m2")).toMatchObject({ taskId: "t1" });
    expect(await eventsOf(store, "t2")).toHaveLength(1);
  });

  it("ends a reader of a large task that is deleted", async () => {
    await using store = await SqliteTaskStore.open(join(directory, "tasks.db"));
    await appendLarge(store);
    const reader = store.readEvents("t1", 0n)[Symbol.asyncIterator]();
    await reader.next();
    await store.delete(LARGE);
    const rest = await Array.fromAsync({
      [Symbol.asyncIterator]: () => reader,
    });
    expect(rest.length).toBeLessThan(8);
  });

  it("deletes a task, and goes on, when the log of the file cannot be emptied", async () => {
    const path = join(temporaryDirectory(), "tasks.db");
    const database = await openDatabase(path, TASK_SCHEMA);
    let failed = 0;
    await using store = new SqliteTaskStore(
      withStatement(database, "wal_checkpoint", () => {
        failed++;
        throw new Error("disk I/O error");
      }),
    );
    await appendLarge(store);
    await store.delete(LARGE);
    expect(await eventsOf(store, "t1")).toEqual([]);
    await store.append({ events: [created("t2")] });
    expect(await eventsOf(store, "t2")).toHaveLength(1);
    expect(failed).toBeGreaterThan(0);
  });

  it("starts with an empty log of the file after a kill, which may have had what was deleted", async () => {
    const [path, killed] = ["tasks.db", "killed.db"].map((name) =>
      join(directory, name),
    );
    if (path === undefined || killed === undefined) throw new Error("no path");
    {
      const database = await openDatabase(path, TASK_SCHEMA);
      await using store = new SqliteTaskStore(
        withStatement(database, "wal_checkpoint", () => {
          throw new Error("the server is killed before it");
        }),
      );
      await store.append({ events: [created("t1"), text("t1", 2n, "secret")] });
      await store.delete({ ...LARGE, sequence: 2n });
      for (const end of ["", "-wal"]) {
        copyFileSync(`${path}${end}`, `${killed}${end}`);
      }
    }
    const log = `${killed}-wal`;
    expect(readFileSync(log).includes("secret")).toBe(true);
    await using store = await SqliteTaskStore.open(killed);
    expect(readFileSync(log).includes("secret")).toBe(false);
    expect(await eventsOf(store, "t1")).toEqual([]);
  });

  it("erases what is left of many tasks in few transactions", async () => {
    const path = join(directory, "tasks.db");
    const database = await openDatabase(path, TASK_SCHEMA);
    let begun = 0;
    await using store = new SqliteTaskStore(
      withStatement(database, "BEGIN", () => {
        begun++;
      }),
    );
    const ids = Array.from({ length: 64 }, (_, at) => `t${at}`);
    await Promise.all(
      ids.map((id) => {
        const filler = text(id, 2n, "secret".repeat(2000));
        return store.append({ events: [created(id), filler] });
      }),
    );
    begun = 0;
    await Promise.all(
      ids.map((taskId) =>
        store.delete({
          ...{ taskId, sequence: 2n },
          record: create(AuditRecordSchema, { taskId }),
        }),
      ),
    );
    expect(begun).toBe(1);
    await store.backUp(join(directory, "backup.db"));
    // 64 tasks of 12 KB and what each counts beside, 256 KiB at a time.
    expect(begun).toBe(4);
    for (const end of ["", "-wal"]) {
      expect(readFileSync(`${path}${end}`).includes("secret")).toBe(false);
    }
    expect((await store.list({ limit: 9 })).tasks).toEqual([]);
  });

  it("finds what it deletes by ids and conversations, however many tasks there are", async () => {
    const database = await openDatabase(join(directory, "a.db"), TASK_SCHEMA);
    const prepare = vi.spyOn(database, "prepare");
    new SqliteDeletion(database);
    const plans = prepare.mock.calls.flatMap(([sql]) =>
      database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map(({ detail }) => String(detail)),
    );
    expect(plans).toContainEqual(expect.stringContaining("task_by_context"));
    expect(plans.filter((plan) => plan.includes("task_in_time"))).toEqual([]);
    expect(plans.filter((plan) => plan.startsWith("SCAN"))).toEqual([
      // Once, at the start.
      "SCAN deleted_task",
      // Once a minute.
      "SCAN deleted_message",
    ]);
    database.close();
  });

  it("has nothing of a large task in a backup that comes right after its deletion", async () => {
    const backup = join(directory, "backup.db");
    await using store = await SqliteTaskStore.open(join(directory, "tasks.db"));
    await appendLarge(store);
    await store.delete(LARGE);
    await store.backUp(backup);
    expect(readFileSync(backup).includes("secret")).toBe(false);
  });

  it("gives the id of a large task that was deleted to a new one at once", async () => {
    const path = join(directory, "tasks.db");
    await using store = await SqliteTaskStore.open(path);
    await appendLarge(store);
    await store.delete(LARGE);
    await store.append({ events: [created("t1")] });
    expect(await eventsOf(store, "t1")).toEqual([created("t1")]);
  });

  it("refuses a missing directory", async () => {
    await expect(
      SqliteTaskStore.open(join(directory, "missing", "tasks.db")),
    ).rejects.toThrow("cannot be opened");
  });

  it("refuses a truncated file", async () => {
    const path = join(directory, "tasks.db");
    await fill(path, 2000);
    truncateSync(path, statSync(path).size / 2);
    await expect(SqliteTaskStore.open(path)).rejects.toThrow(
      /tasks\.db" is damaged/,
    );
  });

  it("releases a file that it refused", async () => {
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
    await expect(
      store.append({ events: [text("t1", 3n)] }),
    ).rejects.toMatchObject({
      code: Code.Aborted,
    });
    await store.append({ events: [text("t1", 4n)] });
  });

  it("rejects only the event that cannot be encoded, not those that share its commit", async () => {
    await using store = await SqliteTaskStore.open(join(directory, "tasks.db"));
    const good = store.append({ events: [created("t1")] });
    const bad = store.append({
      events: [
        {
          ...created("t2"),
          time: create(TimestampSchema, { seconds: 2n ** 70n }),
        },
      ],
    });
    const next = store.append({ events: [text("t1", 2n)] });
    expect(
      (await Promise.allSettled([good, bad, next])).map(({ status }) => status),
    ).toEqual(["fulfilled", "rejected", "fulfilled"]);
  });

  it("joins appends of the next turn of the event loop in one commit", async () => {
    await using store = await SqliteTaskStore.open(join(directory, "tasks.db"));
    const onCommit = vi.fn();
    subscribe("devtool:store.commit.after", onCommit);
    using _unsubscribed = {
      [Symbol.dispose]: () =>
        void unsubscribe("devtool:store.commit.after", onCommit),
    };
    const first = store.append({ events: [created("t1")] });
    await nextTurn();
    expect(onCommit).not.toHaveBeenCalled();
    const second = store.append({ events: [text("t1", 2n)] });
    await Promise.all([first, second]);
    expect(onCommit).toHaveBeenCalledTimes(1);
  });

  it("reports a row that is not an event", async () => {
    const database = await openDatabase(
      join(directory, "tasks.db"),
      TASK_SCHEMA,
    );
    database.exec(
      "INSERT INTO event (task_id, sequence, data) VALUES ('t1', 1, x'ffff')",
    );
    await using store = new SqliteTaskStore(database);
    await expect(eventsOf(store, "t1")).rejects.toMatchObject({
      code: Code.DataLoss,
    });
  });

  it("commits queued appends when it is closed, and rejects appends after that", async () => {
    const store = await SqliteTaskStore.open(join(directory, "tasks.db"));
    const queued = store.append({ events: [created("t1")] });
    await store[Symbol.asyncDispose]();
    await expect(queued).resolves.toBeUndefined();
    await expect(
      store.append({ events: [text("t1", 2n)] }),
    ).rejects.toMatchObject({
      code: Code.Unavailable,
    });
    await store[Symbol.asyncDispose]();
  });

  it("reports a full disk, keeps no part of what did not fit, and continues when there is space", async () => {
    const path = join(directory, "tasks.db");
    const database = await openDatabase(path, TASK_SCHEMA);
    database.exec("PRAGMA max_page_count = 40");
    await using store = new SqliteTaskStore(database);
    await store.append({ events: [created("t1")] });
    const large = [text("t1", 2n, "x".repeat(1_000_000))];
    const both = await Promise.allSettled([
      store.append({ events: large }),
      store.append({ events: [created("t2")] }),
    ]);
    const full = { reason: { code: Code.ResourceExhausted } };
    expect(both).toMatchObject([full, full]);
    await store.append({ events: [text("t1", 2n)] });
    expect(await eventsOf(store, "t1")).toHaveLength(2);
    expect(await eventsOf(store, "t2")).toEqual([]);
  });
});

async function fill(path: string, count: number): Promise<void> {
  await using store = await SqliteTaskStore.open(path);
  await store.append({ events: [created("t1")] });
  for (let sequence = 2; sequence <= count; sequence++) {
    void store.append({ events: [text("t1", BigInt(sequence))] });
  }
}

/**
 * The number of bytes of text that a reader which never waits gets in each turn
 * of the event loop.
 */
async function bytesByTurn(
  events: AsyncIterable<TaskEvent>,
): Promise<number[]> {
  const read = [0];
  const everyTurn = (): void => {
    read.push(0);
    next = setImmediate(everyTurn);
  };
  let next = setImmediate(everyTurn);
  for await (const { payload } of events) {
    if (payload.case === "text") {
      read.push((read.pop() ?? 0) + payload.value.text.length);
    }
  }
  clearImmediate(next);
  return read;
}
