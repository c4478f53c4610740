import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  AuditRecordSchema,
  PushConfigSchema,
  PushSubscriptionSchema,
} from "@devtool/schema";
import { Code, createServer, verifyAudit } from "@devtool/server";
import type { Agent, AgentEvent } from "@devtool/server/agent";
import { encodeRows, type TaskQuery } from "@devtool/server/store";
import { labeled } from "@devtool/server/testing";
import { Client, type QueryConfig } from "pg";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { LEFT_TO_CI } from "../../../test/depth.ts";
import { assertVersion } from "./connection.ts";
import { listStatement, sizesStatement } from "./list-statement.ts";
import { migrate, VERSION } from "./migrate.ts";
import { PostgresStore } from "./postgres-store.ts";
import {
  findPostgres,
  type PostgresServer,
  startPostgres,
  withoutPostgres,
} from "./testing/index.ts";

const bin = findPostgres();
const why = withoutPostgres(bin) || LEFT_TO_CI;

const IDLE: Agent = {
  about: { name: "idle", description: "Does nothing." },
  open: () => ({
    createExecutor: () => ({
      async *execute(): AsyncIterable<AgentEvent> {},
    }),
  }),
};

describe("the URL of a store", () => {
  it.each(["nonsense", "mysql://u:secret@h/d", "postgres://u:secret@h/"])(
    "is refused without being quoted: %s",
    async (url) => {
      const opened = PostgresStore.open({ url });
      await expect(opened).rejects.toThrow(
        /the URL of the store .*: write postgres:\/\/user:password@host:5432\/database/,
      );
      await expect(opened).rejects.not.toThrow("secret");
    },
  );

  it("is refused when nobody listens there", async () => {
    const opened = PostgresStore.open({
      url: "postgres://u:secret@127.0.0.1:1/d",
    });
    await expect(opened).rejects.toThrow(
      "PostgreSQL at 127.0.0.1:1/d refuses connections: start PostgreSQL, or correct host and port",
    );
    await expect(opened).rejects.toMatchObject({
      code: Code.FailedPrecondition,
    });
  });
});

describe("the version of PostgreSQL", () => {
  it("must be 15 or newer", () => {
    expect(() => assertVersion("h:5432/d", 140_011)).toThrow(
      "PostgreSQL at h:5432/d has version 14: use version 15 or newer",
    );
    expect(() => assertVersion("h:5432/d", 150_000)).not.toThrow();
  });
});

describe.skipIf(why !== "")(`a database${why}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres(bin ?? "");
    await server.run("CREATE ROLE guest LOGIN");
    await server.run(
      "CREATE SCHEMA newer; CREATE TABLE newer.layout AS SELECT 99 AS version",
    );
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const urlOf = (database: string, user: string) =>
    `postgres:///${database}?host=${encodeURIComponent(server.socketDirectory)}&user=${user}`;

  it.each([
    [
      "missing",
      "devtool",
      "has no such database: create it, for instance with createdb",
    ],
    [
      "postgres",
      "stranger",
      "refuses this user: correct the user, or allow it in pg_hba.conf",
    ],
    [
      "postgres",
      "guest",
      "denies this user a right: let the user own the database, or GRANT CREATE ON DATABASE to it",
    ],
  ])(
    "%s is refused for %s, with what to do",
    async (database, user, problem) => {
      await expect(
        PostgresStore.open({ url: urlOf(database, user) }),
      ).rejects.toThrow(problem);
    },
  );

  it("serves a user who may only create in its schema", async () => {
    await server.run("CREATE SCHEMA theirs AUTHORIZATION guest");
    await using store = await PostgresStore.open({
      url: urlOf("postgres", "guest"),
      schema: "theirs",
    });
    await store.assertWritable();
  });

  it("is refused when a newer release has written it", async () => {
    await expect(
      PostgresStore.open({ url: server.url, schema: "newer" }),
    ).rejects.toThrow(
      `the schema "newer" was written by a newer release (version 99): this one reads up to ${VERSION}`,
    );
  });

  it("keeps the search path although the URL has options of its own", async () => {
    const url = `${server.url}&options=${encodeURIComponent("-c statement_timeout=60000")}`;
    await using _store = await PostgresStore.open({ url, schema: "optional" });
    expect(await server.run("SELECT FROM optional.task")).toEqual([]);
  });

  it("is opened by many servers at once, of which one makes the tables", async () => {
    const opened = await Promise.all(
      Array.from({ length: 8 }, () =>
        PostgresStore.open({
          url: server.url,
          schema: "shared",
          maxConnections: 2,
        }),
      ),
    );
    await Promise.all(opened.map((store) => store[Symbol.asyncDispose]()));
    expect(await server.run("SELECT version FROM shared.layout")).toEqual([
      { version: VERSION },
    ]);
  });

  it.each(Array.from({ length: VERSION - 1 }, (_, at) => at + 1))(
    "goes on with a task that version %i has stored: reads, lists, writes and deletes it",
    async (version) => {
      const schema = `from_${version}`;
      const client = new Client({
        connectionString: server.url,
        options: `-c search_path=${schema}`,
      });
      await client.connect();
      const first = labeled("t1", "Fix it", "/w", "one");
      try {
        await migrate(client, schema, version);
        await client.query(
          "INSERT INTO task (id, context_id, principal, state, time_ms, sequence, fence) VALUES ('t1', 'c', 'me', 1, 1, 1, 0)",
        );
        const [row] = encodeRows([first]);
        await client.query("INSERT INTO event VALUES ('t1', 1, $1)", [
          row?.data,
        ]);
        await client.query("INSERT INTO context VALUES ('me', 'c', 't1')");
        await client.query(
          "INSERT INTO message VALUES ('me', 'm-t1', 't1', 1)",
        );
      } finally {
        await client.end();
      }
      await using store = await PostgresStore.open({ url: server.url, schema });
      const read = Array.fromAsync(store.readEvents("t1", 0n));
      expect(await read).toEqual([first]);
      expect(await store.findLatest("me", "c")).toEqual(first);
      expect(await store.findMessage("me", "m-t1")).toEqual(first);
      expect((await store.list({ limit: 9 })).tasks).toHaveLength(1);
      await store.append({ events: [{ ...first, sequence: 2n }] });
      const record = create(AuditRecordSchema, { taskId: "t1" });
      await store.delete({ taskId: "t1", sequence: 2n, record });
      expect((await store.list({ limit: 9 })).tasks).toEqual([]);
      expect(await verifyAudit(store.readAudit(0n))).toMatchObject({
        count: 1n,
        fault: undefined,
      });
    },
  );

  it("labels the tasks that a release before labels has stored", async () => {
    const schema = "unlabeled";
    {
      await using store = await PostgresStore.open({ url: server.url, schema });
      for (let at = 0; at < 70; at++) {
        await store.append({
          events: [labeled(`t${at}`, `Fix \\ ${at}`, "/w\\", "one")],
        });
      }
    }
    const client = new Client({
      connectionString: server.url,
      options: `-c search_path=${schema}`,
    });
    await client.connect();
    try {
      await migrate(client, schema, 2);
    } finally {
      await client.end();
    }
    await using store = await PostgresStore.open({ url: server.url, schema });
    const { tasks } = await store.list({
      limit: 100,
      titleContains: "FIX \\",
      workspacePath: "/w\\",
    });
    expect(tasks).toHaveLength(70);
    expect(tasks[0]).toMatchObject({ workspacePath: "/w\\", agent: "one" });
  });

  it("U11: counts the messages of a release before it, which may go on to write", async () => {
    const schema = "counted";
    const client = new Client({
      connectionString: server.url,
      options: `-c search_path=${schema}`,
    });
    await client.connect();
    const begin = (id: string): Promise<unknown> =>
      client.query(
        "INSERT INTO task (id, context_id, principal, state, time_ms, sequence, fence) VALUES ($1, 'c', 'me', 1, 1, 1, 0)",
        [id],
      );
    try {
      await migrate(client, schema, 6);
      await begin("t1");
      await client.query(
        "INSERT INTO message VALUES ('me', 'm1', 't1', 1), ('me', 'm2', 't1', 5), ('me', 'm3', 't1', 9)",
      );
      await migrate(client, schema);
      await begin("t2");
      const { rows } = await client.query(
        "SELECT id, messages FROM task ORDER BY id DESC",
      );
      expect(rows).toEqual([
        { id: "t2", messages: 1 },
        { id: "t1", messages: 3 },
      ]);
    } finally {
      await client.end();
    }
  });

  it("moves what is shown out of the audit chain, and does not go back once there is one", async () => {
    const schema = "shown";
    const client = new Client({
      connectionString: server.url,
      options: `-c search_path=${schema}`,
    });
    await client.connect();
    try {
      await migrate(client, schema, 7);
      let previousHash = new Uint8Array();
      for (let number = 1n; number <= 70n; number++) {
        const shown = `text ${number}`;
        const record = create(AuditRecordSchema, {
          ...{ number, previousHash, taskId: "t\\0", shown },
        });
        // As the release before hashed it: with what is shown.
        const data = toBinary(AuditRecordSchema, record);
        previousHash = createHash("sha256").update(data).digest();
        record.hash = previousHash;
        await client.query("INSERT INTO audit VALUES ($1, $2)", [
          number,
          toBinary(AuditRecordSchema, record),
        ]);
      }
      const waiting = create(AuditRecordSchema, { taskId: "t1", shown: "new" });
      await client.query("INSERT INTO audit_pending (data) VALUES ($1)", [
        toBinary(AuditRecordSchema, waiting),
      ]);
      await migrate(client, schema);
      await expect(migrate(client, schema, 7)).rejects.toThrow(
        "the audit log cannot go back to the release before: restore a backup of that time",
      );
    } finally {
      await client.end();
    }
    await using store = await PostgresStore.open({ url: server.url, schema });
    expect(await verifyAudit(store.readAudit(0n))).toMatchObject({
      count: 71n,
      fault: undefined,
    });
    const records = await Array.fromAsync(store.readAudit(69n));
    expect(records.map(({ shown }) => shown)).toEqual(["text 70", "new"]);
    const texts = "SELECT FROM shown.audit_shown";
    expect(await server.run(texts)).toHaveLength(71);
  });

  it("goes on posting from where a release before it has posted", async () => {
    const schema = "posted";
    const key = { taskId: "t1", configId: "c" };
    {
      await using store = await PostgresStore.open({ url: server.url, schema });
      await store.append({ events: [labeled("t1", "Post", "", "")] });
      const config = create(PushConfigSchema, {
        taskId: "t1",
        id: "c",
        url: "https://hook.test/",
      });
      await store.pushConfigs.put(
        create(PushSubscriptionSchema, { config, progress: { cursor: 7n } }),
      );
    }
    const client = new Client({
      connectionString: server.url,
      options: `-c search_path=${schema}`,
    });
    await client.connect();
    try {
      await migrate(client, schema, 3);
    } finally {
      await client.end();
    }
    await using store = await PostgresStore.open({ url: server.url, schema });
    expect((await store.pushConfigs.get(key))?.progress?.cursor).toBe(7n);
    expect(
      await server.run(`SELECT position FROM ${schema}.push_config`),
    ).toEqual([{ position: "7" }]);
  });

  it("sums up the events of a release before it, also large ones", async () => {
    const schema = "sized";
    const sizes = `SELECT id, bytes FROM ${schema}.task ORDER BY id`;
    {
      await using store = await PostgresStore.open({ url: server.url, schema });
      await store.append({
        events: [labeled("t1", "x".repeat(99_999), "", "")],
      });
      await store.append({ events: [labeled("t2", "Small", "", "")] });
    }
    const before = await server.run(sizes);
    expect(Number(before[0]?.bytes)).toBeGreaterThan(99_999);
    const client = new Client({
      connectionString: server.url,
      options: `-c search_path=${schema}`,
    });
    await client.connect();
    try {
      await migrate(client, schema, 9);
      await migrate(client, schema);
    } finally {
      await client.end();
    }
    expect(await server.run(sizes)).toEqual(before);
  });

  it("finds the titles that a release before their index has stored", async () => {
    const schema = "titled";
    {
      await using store = await PostgresStore.open({ url: server.url, schema });
      const events = [labeled("t1", "Fix \\ Ärger", "", "")];
      await store.append({ events });
    }
    const client = new Client({
      connectionString: server.url,
      options: `-c search_path=${schema}`,
    });
    await client.connect();
    try {
      await migrate(client, schema, 11);
    } finally {
      await client.end();
    }
    await using store = await PostgresStore.open({ url: server.url, schema });
    for (const titleContains of ["x", "\\ ä", "ÄRGER"]) {
      const { tasks } = await store.list({ limit: 9, titleContains });
      expect(tasks).toHaveLength(1);
    }
  });

  it("has an index for the lists of all callers, of rare workspaces and agents, and for the tasks that have not ended", async () => {
    const schema = "planned";
    await using store = await PostgresStore.open({ url: server.url, schema });
    for (let at = 0; at < 50; at++) {
      const event = labeled(`t${at}`, "title", "/w", "own", at);
      await store.append({ events: [event] });
    }
    const client = new Client({
      connectionString: server.url,
      options: `-c search_path=${schema} -c enable_seqscan=off`,
    });
    await client.connect();
    const indexesOf = async ({ text, values = [] }: QueryConfig) => {
      const explained = { text: `EXPLAIN (FORMAT JSON) ${text}`, values };
      const { rows } = await client.query(explained);
      const plan = JSON.stringify(rows);
      return [...plan.matchAll(/"Index Name":"(\w+)"/g)].map(
        ([, name]) => name,
      );
    };
    const listOf = (query: Partial<TaskQuery>) =>
      indexesOf(listStatement({ ...query, limit: 9 }, undefined, undefined));
    try {
      await client.query("ANALYZE");
      expect(await listOf({})).toContain("task_in_time");
      const agent = { principal: "me", agent: "rare" };
      expect(await listOf(agent)).toContain("label_by_agent");
      const workspace = { principal: "me", workspacePath: "/rare" };
      expect(await listOf(workspace)).toContain("label_by_workspace");
      const other = await PostgresStore.open({
        url: server.url,
        schema: "unfinished",
      });
      await using running = await createServer({
        agents: { idle: IDLE },
        openStore: async () => other,
      });
      const sizes = vi.spyOn(other, "readSizes");
      await running.load();
      // What is listed at first is read without events from then on.
      await running.load();
      // The server itself reads the sizes of all, a second after its start.
      const ofSome = sizes.mock.calls.find(([states]) => states);
      const states = ofSome?.[0] ?? [];
      expect(await indexesOf(sizesStatement("a", states))).toEqual([
        "task_unfinished",
      ]);
    } finally {
      await client.end();
    }
  });

  it("goes back to each earlier version and forth again, to the same tables", async () => {
    const client = new Client({
      connectionString: server.url,
      options: "-c search_path=moved",
    });
    await client.connect();
    const columns = async () =>
      server.run(
        `SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'moved' ORDER BY 1, 2`,
      );
    try {
      await migrate(client, "moved");
      const tables = await columns();
      for (let version = VERSION - 1; version >= 0; version--) {
        await migrate(client, "moved", version);
        await migrate(client, "moved");
        expect(await columns()).toEqual(tables);
      }
      await migrate(client, "moved", 0);
      expect(await columns()).toEqual([
        { table_name: "layout", column_name: "version", data_type: "integer" },
      ]);
    } finally {
      await client.end();
    }
  });
});
