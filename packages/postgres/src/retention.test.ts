import { readFileSync } from "node:fs";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { AuditRecordSchema, InboxRequestSchema, type TaskEvent, TaskState } from "@devtool/schema";
import { verifyAudit } from "@devtool/server";
import { created, eventsOf, text } from "@devtool/server/testing/contracts";
import { describe, expect, it } from "vitest";
import { PostgresStore } from "./postgres-store.ts";
import { findPostgres, startPostgres } from "./testing/index.ts";

const DAY_MS = 24 * 3600 * 1000;
const bin = findPostgres();

describe.skipIf(bin === undefined)("the statements of docs/postgres.md that remove old tasks", () => {
  it("remove ended tasks without a change for 90 days, with all their rows, and keep the others and the audit log", async () => {
    await using server = await startPostgres(bin ?? "");
    await using store = await PostgresStore.open({ url: server.url });
    const tasks: readonly (readonly [id: string, state: TaskState, days: number])[] = [
      ["old", TaskState.COMPLETED, 91],
      ["asking", TaskState.INPUT_REQUIRED, 91],
      ["recent", TaskState.COMPLETED, 89],
    ];
    for (const [id, state, days] of tasks) {
      const time = timestampFromMs(Date.now() - days * DAY_MS);
      const own: TaskEvent[] = [created(id), { ...text(id, 2n), state }];
      const events = own.map((event) => ({ ...event, time, contextId: id }));
      await store.append(events, [create(AuditRecordSchema, { taskId: id, sequence: 1n })]);
      await server.run(`INSERT INTO devtool.push_config (task_id, config_id, active, subscription, progress)
        VALUES ('${id}', 'c', true, '', '')`);
      await store.shared.inbox.put(id, create(InboxRequestSchema, { request: { case: "notice", value: "hi" } }));
    }
    const page = readFileSync(new URL("../../../docs/postgres.md", import.meta.url), "utf8");
    const [, sql = ""] = /## Remove old tasks[\s\S]*?```sql\n([\s\S]*?)```/.exec(page) ?? [];
    await server.run(sql);
    expect(await eventsOf(store, "old")).toEqual([]);
    expect(await store.findLatest("me", "old")).toBeUndefined();
    const { tasks: left } = await store.list({ limit: 10 });
    expect(left.map(({ last }) => last.taskId)).toEqual(["recent", "asking"]);
    for (const { last } of left) expect(await eventsOf(store, last.taskId)).toHaveLength(2);
    const rows = await server.run(
      `SELECT (SELECT count(*) FROM devtool.event) AS events, (SELECT count(*) FROM devtool.push_config) AS configs,
        (SELECT count(*) FROM devtool.inbox) AS requests`,
    );
    expect(rows).toEqual([{ events: "2", configs: "2", requests: "2" }]);
    expect(await verifyAudit(store.readAudit(0n))).toMatchObject({ count: 3n, fault: undefined });
  });
});
