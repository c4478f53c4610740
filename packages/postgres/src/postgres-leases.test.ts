import { Code } from "@devtool/server";
import { created, eventsOf, text } from "@devtool/server/testing";
import { Client } from "pg";
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

/** Longer than a busy machine stands still. */
const LEASE_MS = 10_000;

describe.skipIf(bin === undefined)(`PostgresLeases${why}`, () => {
  let server: PostgresServer;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres(bin ?? "");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const nextSchema = () => `leases_${++schemas}`;
  const open = (schema: string) =>
    PostgresStore.open({ url: server.url, schema, leaseMs: LEASE_MS });
  /**
   * Lets the leases of one server expire, as the clock of the database would if
   * it did not renew them.
   */
  const expire = (schema: string, store: PostgresStore) =>
    server.run(
      `UPDATE ${schema}.replica SET alive_until = clock_timestamp() WHERE id = '${store.shared.leases.owner}'`,
    );

  it("tells other servers that it gives its tasks up, which can have them then", async () => {
    const schema = nextSchema();
    await using one = await open(schema);
    await using other = await open(schema);
    const { fence, lost } = await one.shared.leases.create("t1");
    await one.append({ events: [created("t1")], fence });
    const told = Promise.withResolvers<undefined>();
    let isListening = false;
    using _watch = other.shared.changes.watchGivenUp(
      () => isListening && told.resolve(undefined),
    );
    using _all = other.shared.changes.watch("t1", () => {
      isListening = true;
    });
    // A wake-up for the task shows that the connection listens: only a
    // notification tells of leases.
    await expect.poll(() => isListening, { timeout: 60_000 }).toBe(true);
    await one.shared.leases.giveUp();
    await told.promise;
    expect(lost.aborted).toBe(true);
    expect(await other.shared.leases.orphaned()).toEqual(["t1"]);
    expect((await other.shared.leases.acquire("t1"))?.fence).toBe(2n);
    await expect(one.shared.leases.acquire("t1")).rejects.toMatchObject({
      code: Code.Unavailable,
    });
  });

  it("lists a limited number of orphans, without those that are said to fail", async () => {
    const schema = nextSchema();
    await using one = await open(schema);
    const ids = Array.from({ length: 300 }, (_, index) => `t${index}`);
    for (const id of ids) await one.append({ events: [created(id)] });
    const first = await one.shared.leases.orphaned();
    const rest = await one.shared.leases.orphaned([], first);
    expect([first.length, rest.length]).toEqual([256, 44]);
    expect([...first, ...rest].toSorted()).toEqual(ids.toSorted());
  });

  it("makes an append that waits for an acquisition fail, and not slip in behind it", async () => {
    const schema = nextSchema();
    await using zombie = await open(schema);
    const lease = await zombie.shared.leases.create("t1");
    await zombie.append({ events: [created("t1")], fence: lease.fence });
    const taking = new Client({ connectionString: server.url });
    await taking.connect();
    await taking.query(
      `BEGIN; UPDATE ${schema}.task SET fence = fence + 1 WHERE id = 't1'`,
    );
    const appended = zombie.append({
      events: [text("t1", 2n)],
      fence: lease.fence,
    });
    const refused = expect(appended).rejects.toMatchObject({
      code: Code.Aborted,
    });
    const waiting =
      "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await expect.poll(async () => (await server.run(waiting)).length).toBe(1);
    await taking.query("COMMIT");
    await refused;
    await taking.end();
    expect(await eventsOf(zombie, "t1")).toHaveLength(1);
  });

  it("ends all leases of a server that renewed too late, and begins a new term", async () => {
    const schema = nextSchema();
    await using store = await open(schema);
    const lease = await store.shared.leases.create("t1");
    await store.append({ events: [created("t1")], fence: lease.fence });
    const before = store.shared.leases.owner;
    await expire(schema, store);
    await new Promise((resolve) =>
      lease.lost.addEventListener("abort", resolve),
    );
    await lease.release();
    const again = await store.shared.leases.acquire("t1");
    expect([again?.fence, again?.lost.aborted]).toEqual([2n, false]);
    expect(store.shared.leases.owner).not.toBe(before);
  });

  it("renews its leases while it lives", async () => {
    const schema = nextSchema();
    await using store = await open(schema);
    const lease = await store.shared.leases.create("t1");
    const until = async () => {
      const [row] = await server.run(
        `SELECT alive_until::text AS until FROM ${schema}.replica`,
      );
      return String(row?.until);
    };
    const first = await until();
    await expect.poll(until).not.toBe(first);
    expect(lease.lost.aborted).toBe(false);
  });
});
