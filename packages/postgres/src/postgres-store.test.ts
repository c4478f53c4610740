import { create } from "@bufbuild/protobuf";
import {
  AuditRecordSchema,
  MessageSchema,
  PushConfigSchema,
  PushSubscriptionSchema,
  TaskCreatedSchema,
  TaskEventSchema,
} from "@devtool/schema";
import { Code, verifyAudit } from "@devtool/server";
import { created, eventsOf, labeled, text } from "@devtool/server/testing";
import {
  testPushConfigStore,
  testSharedStore,
  testTaskStore,
} from "@devtool/server/testing/contracts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../../../test/depth.ts";
import { PostgresStore } from "./postgres-store.ts";
import {
  findPostgres,
  type PostgresServer,
  startPostgres,
  withoutPostgres,
} from "./testing/index.ts";

const bin = findPostgres();
const why = withoutPostgres(bin) || LEFT_TO_CI;

/** Longer than a busy machine stands still. */
const LEASE_MS = 10_000;

describe.skipIf(why !== "")(`PostgresStore${why}`, () => {
  let server: PostgresServer;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres(bin ?? "");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  // The name has what must be quoted.
  const schemaOf = (place: string) => `a "test" \\ ${place}`;
  const nextSchema = () => schemaOf(String(++schemas));
  const open = (schema = nextSchema()) =>
    PostgresStore.open({ url: server.url, schema, leaseMs: LEASE_MS });

  testTaskStore((place) => open(schemaOf(place)));
  testSharedStore(() => {
    const schema = nextSchema();
    return {
      open: () => open(schema),
      // The clock of the database goes on, and the server has not renewed.
      expire: async ({ shared: { leases } }) => {
        await server.run(
          `UPDATE "${schema.replaceAll('"', '""')}".replica SET alive_until = clock_timestamp() WHERE id = '${leases.owner}'`,
        );
      },
    };
  });
  testPushConfigStore(async (place) => {
    const store = await open(schemaOf(place));
    return {
      configs: store.pushConfigs,
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  });

  it("has no byte of a task in any table after its deletion, but the ids of its messages", async () => {
    const schema = nextSchema();
    await using store = await open(schema);
    const shown = create(AuditRecordSchema, { taskId: "t1", shown: "SECRET" });
    const events = [
      labeled("t1", "SECRET title", "/SECRET", "a"),
      text("t1", 2n, "SECRET".repeat(10_000)),
    ];
    await store.append({ events, audit: [shown] });
    const config = create(PushConfigSchema, {
      ...{ taskId: "t1", id: "c", url: "https://SECRET.test/" },
    });
    await store.pushConfigs.put(create(PushSubscriptionSchema, { config }));
    const quoted = `"${schema.replaceAll('"', '""')}"`;
    const holding = async (): Promise<string[]> => {
      const tables = await server.run(
        `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = '${quoted}'::regnamespace ORDER BY 1`,
      );
      const found: string[] = [];
      for (const { relname } of tables) {
        // Bytes of a value are hexadecimal in the text of its row.
        const rows = await server.run(
          `SELECT FROM ${quoted}.${relname} AS row WHERE row::text LIKE '%SECRET%' OR row::text LIKE '%534543524554%'`,
        );
        if (rows.length > 0) found.push(String(relname));
      }
      return found;
    };
    const has = ["audit_shown", "event", "label", "push_config"];
    expect(await holding()).toEqual(has);
    const record = create(AuditRecordSchema, { taskId: "t1" });
    await store.delete({ taskId: "t1", sequence: 2n, record });
    expect(await holding()).toEqual([]);
  });

  it("forgets ids of messages by an index, however many there are", async () => {
    const schema = nextSchema();
    await using _store = await open(schema);
    const quoted = `"${schema.replaceAll('"', '""')}"`;
    await server.run(
      `INSERT INTO ${quoted}.deleted_message SELECT 'me', 'm' || n, 't', n FROM generate_series(1, 10000) AS n`,
    );
    await server.run(`ANALYZE ${quoted}.deleted_message`);
    const plan = await server.run(
      `EXPLAIN DELETE FROM ${quoted}.deleted_message WHERE time_ms < 10`,
    );
    expect(JSON.stringify(plan)).toContain("using deleted_message_by_time");
  });

  it("reads and stores a large append in several rows, and pages by bytes", async () => {
    await using store = await open();
    const large = Array.from({ length: 100 }, (_, at) =>
      text("t1", BigInt(at + 2), "x".repeat(100_000)),
    );
    await store.append({ events: [created("t1"), ...large] });
    expect(await eventsOf(store, "t1")).toEqual([created("t1"), ...large]);
    expect(
      (await store.list({ limit: 1 })).tasks.map(({ last }) => last),
    ).toEqual(large.slice(-1));
  });

  it("stores ids with any character, U+0000 too", async () => {
    await using store = await open();
    const ids = [
      "nul\0",
      String.raw`nul\0`,
      "back\\slash",
      "\u{1f600}'\"{},NULL",
    ];
    for (const id of ids) {
      await store.append({
        events: [create(TaskEventSchema, { ...created(id), contextId: id })],
      });
    }
    for (const id of ids) {
      expect((await store.findLatest("me", id))?.taskId).toBe(id);
    }
    for (const id of ids) expect(await eventsOf(store, id)).toHaveLength(1);
  });

  it("keeps what an earlier server stored, and shares it with another one", async () => {
    const schema = nextSchema();
    await using one = await open(schema);
    await using other = await open(schema);
    await one.append({ events: [created("t1")] });
    expect(await eventsOf(other, "t1")).toEqual([created("t1")]);
    await other.append({ events: [text("t1", 2n)] });
    expect((await one.findMessage("me", "m"))?.taskId).toBe("t1");
    await expect(
      one.append({ events: [text("t1", 2n)] }),
    ).rejects.toMatchObject({
      code: Code.Aborted,
    });
  });

  it("creates one of two tasks with the same id, and takes the message of the other as one that is not recorded", async () => {
    const schema = nextSchema();
    await using one = await open(schema);
    await using other = await open(schema);
    const begin = async (
      store: PostgresStore,
      messageId: string,
    ): Promise<number> => {
      const value = create(TaskCreatedSchema, {
        principal: "me",
        message: { messageId },
      });
      const event = create(TaskEventSchema, {
        ...created("t1"),
        payload: { case: "created", value },
      });
      const { fence } = await store.shared.leases.create("t1");
      return store
        .append({ events: [event], fence })
        .then(() => 1, expectAborted);
    };
    const wins = await Promise.all([begin(one, "m0"), begin(other, "m1")]);
    expect(wins.toSorted()).toEqual([0, 1]);
    const [won, lost] = wins[0] === 1 ? ["m0", "m1"] : ["m1", "m0"];
    expect((await one.findMessage("me", won))?.sequence).toBe(1n);
    expect(await one.findMessage("me", lost)).toBeUndefined();
    const value = create(MessageSchema, { messageId: lost });
    const later = create(TaskEventSchema, {
      ...text("t1", 2n),
      payload: { case: "message", value },
    });
    await one.append({ events: [later], fence: 1n });
    expect((await other.findMessage("me", lost))?.sequence).toBe(2n);
  });

  it("lets one of two servers win each sequence, of tasks in the same contexts", async () => {
    const schema = nextSchema();
    await using one = await open(schema);
    await using other = await open(schema);
    const ids = Array.from({ length: 20 }, (_, at) => `t${at}`);
    await Promise.all(ids.map((id) => one.append({ events: [created(id)] })));
    const wins = new Map<string, number>();
    const race = async (
      store: PostgresStore,
      id: string,
      sequence: bigint,
    ): Promise<void> => {
      const won = await store
        .append({ events: [text(id, sequence)] })
        .then(() => 1, expectAborted);
      wins.set(`${id} ${sequence}`, (wins.get(`${id} ${sequence}`) ?? 0) + won);
    };
    for (let sequence = 2n; sequence <= 50n; sequence++) {
      const forward = ids.map((id) => race(one, id, sequence));
      const backward = ids.toReversed().map((id) => race(other, id, sequence));
      await Promise.all([...forward, ...backward]);
    }
    expect(wins.size).toBe(20 * 49);
    expect([...wins.values()].every((count) => count === 1)).toBe(true);
    for (const id of ids) expect(await eventsOf(one, id)).toHaveLength(50);
  });

  it("chains the audit records of several servers in one chain, each task's in its order", async () => {
    const schema = nextSchema();
    await using one = await open(schema);
    await using other = await open(schema);
    const audited = async (store: PostgresStore, id: string): Promise<void> => {
      await store.append({
        events: [created(id)],
        audit: [create(AuditRecordSchema, { taskId: id, toolCallId: "0" })],
      });
      for (let at = 1; at < 50; at++) {
        await store.append({
          events: [text(id, BigInt(at + 1))],
          audit: [
            create(AuditRecordSchema, { taskId: id, toolCallId: `${at}` }),
          ],
        });
      }
    };
    const readWhileWritten = async (): Promise<void> => {
      for (let read = 0; read < 20; read++) {
        expect((await verifyAudit(one.readAudit(0n))).fault).toBeUndefined();
      }
    };
    await Promise.all([
      audited(one, "t1"),
      audited(other, "t2"),
      audited(one, "t3"),
      readWhileWritten(),
    ]);
    expect(await verifyAudit(other.readAudit(0n))).toMatchObject({
      count: 150n,
      fault: undefined,
    });
    const records = await Array.fromAsync(one.readAudit(0n));
    for (const id of ["t1", "t2", "t3"]) {
      const calls = records
        .filter(({ taskId }) => taskId === id)
        .map(({ toolCallId }) => Number(toolCallId));
      expect(calls).toEqual(Array.from({ length: 50 }, (_, at) => at));
    }
  });

  it("detects a record that was changed in the database", async () => {
    const schema = nextSchema();
    await using store = await open(schema);
    for (const id of ["t1", "t2", "t3"]) {
      await store.append({
        events: [created(id)],
        audit: [create(AuditRecordSchema, { taskId: id })],
      });
    }
    expect(await verifyAudit(store.readAudit(0n))).toMatchObject({
      count: 3n,
      fault: undefined,
    });
    const table = `"${schema.replaceAll('"', '""')}".audit`;
    await server.run(
      `UPDATE ${table} SET data = (SELECT data FROM ${table} WHERE number = 1) WHERE number = 2`,
    );
    await expect(verifyAudit(store.readAudit(0n))).rejects.toMatchObject({
      code: Code.DataLoss,
    });
    await server.run(`DELETE FROM ${table} WHERE number = 2`);
    expect((await verifyAudit(store.readAudit(0n))).fault).toContain(
      "record 2 is missing",
    );
  });

  it("rejects appends while the server is gone, and writes again when it is back", async () => {
    await using store = await open();
    await store.append({ events: [created("t1")] });
    await server.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'devtool' AND pid <> pg_backend_pid()",
    );
    await store
      .append({ events: [text("t1", 2n)] })
      .catch((reason: unknown) => {
        expect(reason).toMatchObject({ code: Code.Unavailable });
      });
    await expect
      .poll(() => store.assertWritable().then(() => "writable", String))
      .toBe("writable");
    const { length } = await eventsOf(store, "t1");
    await store.append({ events: [text("t1", BigInt(length + 1))] });
  });

  it("rejects reading and storing approvals when it is closed", async () => {
    const store = await open();
    const { approvals } = store.shared;
    const { file, version } = await approvals.read();
    await store[Symbol.asyncDispose]();
    for (const failed of [approvals.read(), approvals.replace(file, version)]) {
      await expect(failed).rejects.toMatchObject({ code: Code.Unavailable });
    }
  });

  it("wakes those who watch the inbox, also when notifications are lost", async () => {
    await using store = await open();
    let wakes = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    using _watch = store.shared.inbox.watch(() => ++wakes === 3 && resolve());
    // Nothing is put, so only the poll wakes.
    await promise;
  });

  it("says that a read-only database cannot be written", async () => {
    const schema = nextSchema();
    const url = `${server.url}&options=${encodeURIComponent("-c default_transaction_read_only=on")}`;
    await expect(PostgresStore.open({ url, schema })).rejects.toThrow(
      "is read-only: connect to the primary server",
    );
    await (await open(schema))[Symbol.asyncDispose]();
    await using reader = await PostgresStore.open({ url, schema });
    await expect(reader.assertWritable()).rejects.toThrow(
      "the database is read-only",
    );
    await expect(
      reader.append({ events: [created("t1")] }),
    ).rejects.toMatchObject({
      code: Code.Unavailable,
    });
    const record = create(AuditRecordSchema, { taskId: "t1", sequence: 1n });
    await expect(
      reader.append({ events: [], audit: [record] }),
    ).rejects.toMatchObject({
      ...{ name: "DevtoolError", code: Code.Unavailable },
      problem: "the database is read-only",
    });
  });

  it("has a lease as long as its options say, of a second to an hour", async () => {
    const { url } = server;
    const schema = "lease";
    for (const leaseMs of [
      999,
      3_600_001,
      Number.POSITIVE_INFINITY,
      Number.NaN,
    ]) {
      const opening = PostgresStore.open({ url, schema, leaseMs });
      await expect(opening).rejects.toThrow(
        `is ${leaseMs} ms: give 1000 to 3600000`,
      );
    }
    await using store = await PostgresStore.open({
      url,
      schema,
      leaseMs: 60_000,
    });
    await store.shared.leases.create("t1");
    const alive =
      "extract(epoch FROM alive_until - clock_timestamp()) BETWEEN 20 AND 60 AS alive";
    expect(await server.run(`SELECT ${alive} FROM ${schema}.replica`)).toEqual([
      { alive: true },
    ]);
  });

  it("refuses appends after it was closed", async () => {
    const store = await open();
    const last = store.append({ events: [created("t1")] });
    await store[Symbol.asyncDispose]();
    await last;
    await expect(store.append({ events: [text("t1", 2n)] })).rejects.toThrow(
      "the store is closed",
    );
  });
});

function expectAborted(reason: unknown): number {
  expect(reason).toMatchObject({ code: Code.Aborted });
  return 0;
}
