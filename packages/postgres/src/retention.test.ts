import { readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  AuditRecordSchema,
  InboxRequestSchema,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { verifyAudit } from "@devtool/server";
import { created, eventsOf, labeled, text } from "@devtool/server/testing";
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { PostgresStore } from "./postgres-store.ts";
import {
  findPostgres,
  startPostgres,
  withoutPostgres,
} from "./testing/index.ts";

const DAY_MS = 24 * 3600 * 1000;
const PAGE = readFileSync(
  new URL("../../../docs/postgres.md", import.meta.url),
  "utf8",
);
const [, STATEMENTS = ""] =
  /## Remove old tasks[\s\S]*?```sql\n([\s\S]*?)```/.exec(PAGE) ?? [];
const bin = findPostgres();
const why = withoutPostgres(bin);

describe.skipIf(bin === undefined)(
  `the statements of docs/postgres.md that remove old tasks${why}`,
  () => {
    it("remove ended tasks without a change for 90 days, with all their rows, and keep the others and the audit log", async () => {
      await using server = await startPostgres(bin ?? "");
      await using store = await PostgresStore.open({ url: server.url });
      const tasks: readonly (readonly [
        id: string,
        state: TaskState,
        days: number,
      ])[] = [
        ["old", TaskState.COMPLETED, 91],
        ["asking", TaskState.INPUT_REQUIRED, 91],
        ["recent", TaskState.COMPLETED, 89],
      ];
      for (const [id, state, days] of tasks) {
        const time = timestampFromMs(Date.now() - days * DAY_MS);
        const own: TaskEvent[] = [
          labeled(id, id, "/w", ""),
          { ...text(id, 2n), state },
        ];
        const events = own.map((event) => ({ ...event, time, contextId: id }));
        await store.append({
          events,
          audit: [create(AuditRecordSchema, { taskId: id, sequence: 1n })],
        });
        await server.run(`INSERT INTO devtool.push_config (task_id, config_id, active, subscription, progress)
        VALUES ('${id}', 'c', true, '', '')`);
        await store.shared.inbox.put(
          id,
          create(InboxRequestSchema, {
            request: { case: "notice", value: "hi" },
          }),
        );
      }
      await server.run(STATEMENTS);
      expect(await eventsOf(store, "old")).toEqual([]);
      expect(await store.findLatest("me", "old")).toBeUndefined();
      const { tasks: left } = await store.list({ limit: 10 });
      expect(left.map(({ last }) => last.taskId)).toEqual(["recent", "asking"]);
      for (const { last } of left) {
        expect(await eventsOf(store, last.taskId)).toHaveLength(2);
      }
      const tables = await server.run(
        "SELECT table_name FROM information_schema.columns WHERE table_schema = 'devtool' AND column_name = 'task_id'",
      );
      const names = tables
        .map(({ table_name }) => String(table_name))
        // What the audit log keeps, and the ids of messages of deleted tasks.
        .filter((name) => !["audit_shown", "deleted_message"].includes(name))
        .toSorted();
      expect(names).toEqual([
        "context",
        "event",
        "inbox",
        "label",
        "message",
        "push_config",
      ]);
      for (const name of names) {
        const rows = await server.run(
          `SELECT DISTINCT task_id FROM devtool.${name} ORDER BY task_id`,
        );
        expect([name, rows]).toEqual([
          name,
          [{ task_id: "asking" }, { task_id: "recent" }],
        ]);
      }
      expect(await verifyAudit(store.readAudit(0n))).toMatchObject({
        count: 3n,
        fault: undefined,
      });
    });

    it("lose no message that a task gets meanwhile: it waits, and is refused", async () => {
      await using server = await startPostgres(bin ?? "");
      await using store = await PostgresStore.open({ url: server.url });
      const time = timestampFromMs(Date.now() - 91 * DAY_MS);
      const ended: TaskEvent[] = [
        created("old"),
        { ...text("old", 2n), state: TaskState.COMPLETED },
      ];
      await store.append({
        events: ended.map((event) => ({ ...event, time })),
      });
      const [selection, removal] = STATEMENTS.split(
        /(?=^DELETE FROM devtool.push_config)/m,
      );
      const client = new Client({ connectionString: server.url });
      await client.connect();
      try {
        await client.query(selection ?? "");
        const appended = store.append({ events: [text("old", 3n)] }).then(
          () => "kept",
          (reason: unknown) => String(reason),
        );
        const waiting =
          "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        await expect
          .poll(() => server.run(waiting), { timeout: 60_000 })
          .toHaveLength(1);
        await client.query(removal ?? "");
        expect(await appended).toContain("there was another writer");
      } finally {
        await client.end();
      }
      expect(await eventsOf(store, "old")).toEqual([]);
    });
  },
);
