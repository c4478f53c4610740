import { create } from "@bufbuild/protobuf";
import { PushProgressSchema, PushSubscriptionSchema } from "@devtool/schema";
import { created } from "@devtool/server/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresStore } from "./postgres-store.ts";
import {
  findPostgres,
  type PostgresServer,
  startPostgres,
  withoutPostgres,
} from "./testing/index.ts";

const bin = findPostgres();
const why = withoutPostgres(bin);

/** Another server's term, which begins while a statement already waits. */
const TERM =
  "INSERT INTO replica (id, alive_until) VALUES ('new', clock_timestamp() + interval '1 hour')";

describe.skipIf(bin === undefined)(
  `a statement that began before the term of another server${why}`,
  () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await startPostgres(bin ?? "");
    });
    afterAll(() => server[Symbol.asyncDispose]());

    /**
     * Locks rows, and changes them as another server would once `act` waits for
     * them. Resolves with the result of `act`.
     */
    async function behind<T>(
      schema: string,
      { lock, change }: { readonly lock: string; readonly change: string },
      act: () => Promise<T>,
    ): Promise<T> {
      const isLocked =
        "SELECT FROM pg_stat_activity WHERE query LIKE '%wait_for_waiting%' AND wait_event = 'PgSleep'";
      const changing = server.run(
        `BEGIN; SET LOCAL search_path = ${schema}; ${lock};
         DO $$ /* wait_for_waiting */ BEGIN
           WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock') LOOP
             PERFORM pg_sleep(0.01);
             PERFORM pg_stat_clear_snapshot();
           END LOOP;
         END $$;
         ${TERM}; ${change}; COMMIT`,
      );
      await expect
        .poll(async () => (await server.run(isLocked)).length)
        .toBeGreaterThan(0);
      const [result] = await Promise.all([act(), changing]);
      return result;
    }

    it("does not take a task that the other one has acquired", async () => {
      const schema = "of_tasks";
      await using store = await PostgresStore.open({ url: server.url, schema });
      await store.append({ events: [created("t1")] });
      const row = "WHERE id = 't1'";
      const rows = {
        lock: `SELECT FROM task ${row} FOR UPDATE`,
        change: `UPDATE task SET owner = 'new', fence = fence + 1 ${row}`,
      };
      const { leases } = store.shared;
      expect(
        await behind(schema, rows, () => leases.acquire("t1")),
      ).toBeUndefined();
    });

    it("does not take back notifications of a task that the other one has delivered", async () => {
      const schema = "of_configs";
      await using store = await PostgresStore.open({ url: server.url, schema });
      const configs = store.pushConfigs;
      const key = { taskId: "t1", configId: "a" };
      await store.append({ events: [created("t1")] });
      await configs.put(
        create(PushSubscriptionSchema, {
          config: { id: "a", taskId: "t1", url: "https://hook.test/" },
        }),
      );
      const rows = {
        lock: "SELECT FROM push_config FOR UPDATE",
        change:
          "UPDATE task SET fence = fence + 1; UPDATE push_config SET position = 5, progress = '\\x0805'",
      };
      const late = create(PushProgressSchema, { cursor: 3n });
      await behind(schema, rows, () => configs.saveProgress(key, late));
      expect((await configs.get(key))?.progress?.cursor).toBe(5n);
    });

    it("does not work in a conversation of an agent that the other one works in", async () => {
      const schema = "of_sessions";
      await using store = await PostgresStore.open({ url: server.url, schema });
      const key = { principal: "ann", contextId: "c1" };
      const { sessions } = store.shared;
      await (await sessions.begin(key))?.[Symbol.asyncDispose]();
      const rows = {
        lock: "SELECT FROM agent_session FOR UPDATE",
        change:
          "UPDATE agent_session SET owner = 'new', fence = fence + 1, turns = 1",
      };
      expect(
        await behind(schema, rows, () => sessions.begin(key)),
      ).toBeUndefined();
    });
  },
);
