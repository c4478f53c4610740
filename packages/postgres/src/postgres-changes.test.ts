import { created, text } from "@devtool/server/testing";
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

describe.skipIf(bin === undefined)(`PostgresChanges${why}`, () => {
  let server: PostgresServer;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres(bin ?? "");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const nextSchema = () => `changes_${++schemas}`;
  const open = (schema: string) =>
    PostgresStore.open({ url: server.url, schema });
  /** Waits until a connection listens. */
  const listening = () =>
    expect
      .poll(() =>
        server
          .run("SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
          .then(({ length }) => length),
      )
      .toBeGreaterThan(0);

  it("wakes who waits for a task that another server writes, and nobody else", async () => {
    const schema = nextSchema();
    await using writer = await open(schema);
    await using reader = await open(schema);
    const woken: string[] = [];
    using _one = reader.shared.changes.watch("nul\0", () => woken.push("one"));
    using _other = reader.shared.changes.watch("t2", () => woken.push("other"));
    await listening();
    woken.length = 0;
    await writer.append({ events: [created("nul\0")] });
    await expect.poll(() => woken).toContain("one");
    expect(woken).not.toContain("other");
  });

  it("wakes for thousands of tasks at once", async () => {
    const schema = nextSchema();
    await using writer = await open(schema);
    await using reader = await open(schema);
    const ids = Array.from(
      { length: 2000 },
      (_, at) => `a task with a rather long id ${at}`,
    );
    const woken = new Set<string>();
    const watches = ids.map((id) =>
      reader.shared.changes.watch(id, () => woken.add(id)),
    );
    await listening();
    woken.clear();
    await Promise.all(
      ids.map((id) => writer.append({ events: [created(id)] })),
    );
    await expect.poll(() => woken.size).toBe(2000);
    for (const watch of watches) watch[Symbol.dispose]();
  });

  it("carries small events, and only names what is larger", async () => {
    const schema = nextSchema();
    await using writer = await open(schema);
    await using reader = await open(schema);
    const id = "an id, with\tblanks";
    const brought: (readonly bigint[] | undefined)[] = [];
    using _watch = reader.shared.changes.watch(id, (events) =>
      brought.push(events?.map(({ sequence }) => sequence)),
    );
    await listening();
    await writer.append({ events: [created(id)] });
    await writer.append({ events: [text(id, 2n), text(id, 3n)] });
    await expect.poll(() => brought.flat()).toContain(3n);
    expect(brought.flat().filter(Boolean)).toEqual([1n, 2n, 3n]);
    brought.length = 0;
    await writer.append({ events: [text(id, 4n, "x".repeat(9000))] });
    await expect.poll(() => brought).toContain(undefined);
    expect(brought.flat().filter(Boolean)).toEqual([]);
  });

  it("wakes by its poll when no notification comes", async () => {
    const schema = nextSchema();
    await using store = await open(schema);
    await store.append({ events: [created("t1")] });
    let count = 0;
    using _watch = store.shared.changes.watch("t1", () => count++);
    await listening();
    await expect.poll(() => count).toBeGreaterThan(0);
    const before = count;
    await server.run(`UPDATE ${schema}.task SET sequence = 2 WHERE id = 't1'`);
    await expect.poll(() => count).toBeGreaterThan(before);
  });

  it("listens again after its connection broke", async () => {
    const schema = nextSchema();
    await using writer = await open(schema);
    await using reader = await open(schema);
    await writer.append({ events: [created("t1")] });
    let count = 0;
    using _watch = reader.shared.changes.watch("t1", () => count++);
    await listening();
    await server.run(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'",
    );
    await listening();
    const before = count;
    await writer.append({ events: [text("t1", 2n)] });
    await expect.poll(() => count).toBeGreaterThan(before);
  });
});
