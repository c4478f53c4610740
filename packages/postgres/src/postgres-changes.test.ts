import { Socket } from "node:net";
import { created, text } from "@devtool/server/testing";
import { Pool } from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { PostgresChanges } from "./postgres-changes.ts";
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
  it("wakes who waits for a task that another server writes, and nobody else", async () => {
    const schema = nextSchema();
    await using writer = await open(schema);
    await using reader = await open(schema);
    const woken: string[] = [];
    using _one = reader.shared.changes.watch("nul\0", () => woken.push("one"));
    using _other = reader.shared.changes.watch("t2", () => woken.push("other"));
    await expect.poll(() => woken).toContain("one");
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
    await expect.poll(() => woken.size).toBe(2000);
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
    await expect.poll(() => brought).toContain(undefined);
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
    // One as it listens, and one by the first poll.
    await expect.poll(() => count).toBe(2);
    await server.run(`UPDATE ${schema}.task SET sequence = 2 WHERE id = 't1'`);
    await expect.poll(() => count).toBe(3);
  });

  it("listens again after its connection broke", async () => {
    const schema = nextSchema();
    await using writer = await open(schema);
    await using reader = await open(schema);
    await writer.append({ events: [created("t1")] });
    let count = 0;
    using _watch = reader.shared.changes.watch("t1", () => count++);
    // One as it listens, and one by the first poll.
    await expect.poll(() => count).toBe(2);
    await server.run(KILL_LISTENERS);
    await expect.poll(() => count).toBe(3);
    await writer.append({ events: [text("t1", 2n)] });
    await expect.poll(() => count).toBeGreaterThan(3);
  });

  it("listens over one connection, also when one that broke is closed late", async () => {
    const pool = new Pool({ connectionString: server.url });
    const broken = new LateSocket();
    const sockets: Socket[] = [];
    const stream = (): Socket => {
      const socket = sockets.length === 0 ? broken : new Socket();
      sockets.push(socket);
      return socket;
    };
    const config = { connectionString: server.url, stream };
    await using changes = new PostgresChanges(pool, config, "late");
    let wakes = 0;
    using _watch = changes.watch("t1", () => wakes++);
    await expect.poll(() => wakes).toBe(1);
    await server.run(KILL_LISTENERS);
    await expect.poll(() => wakes).toBe(2);
    broken.close();
    let polls = 0;
    using _inbox = changes.watchInbox(() => polls++);
    await expect.poll(() => polls).toBe(2);
    expect(sockets.length).toBe(2);
    await pool.end();
  });
});

const KILL_LISTENERS =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'";

/** A socket that says that it is closed when the test lets it. */
class LateSocket extends Socket {
  #isHeld = true;

  override emit(event: string | symbol, ...args: unknown[]): boolean {
    if (event === "close" && this.#isHeld) return true;
    return super.emit(event, ...args);
  }

  close(): void {
    this.#isHeld = false;
    this.emit("close", false);
  }
}
