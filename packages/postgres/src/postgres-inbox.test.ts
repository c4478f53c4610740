import { create } from "@bufbuild/protobuf";
import {
  type InboxRequest,
  InboxRequestSchema,
  TaskState,
} from "@devtool/schema";
import { Code } from "@devtool/server";
import { created, eventsOf, text } from "@devtool/server/testing/contracts";
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

describe.skipIf(bin === undefined)(`PostgresInbox${why}`, () => {
  let server: PostgresServer;
  let schemas = 0;
  beforeAll(async () => {
    server = await startPostgres(bin ?? "");
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const nextSchema = () => `inbox_${++schemas}`;
  const open = (schema: string) =>
    PostgresStore.open({ url: server.url, schema });
  /** Creates a task under a lease. The id has what must be escaped. */
  async function begin(
    store: PostgresStore,
    taskId = "t\\1\0",
  ): Promise<{ taskId: string; fence: bigint }> {
    const { fence } = await store.shared.leases.create(taskId);
    await store.append({ events: [created(taskId)], fence });
    return { taskId, fence };
  }

  it("shows entries to the server that holds the task, in order, until they have a reply", async () => {
    const schema = nextSchema();
    await using one = await open(schema);
    await using other = await open(schema);
    const { taskId, fence } = await begin(one);
    const entries = [
      await other.shared.inbox.put(taskId, notice("a")),
      await other.shared.inbox.put(taskId, notice("b")),
    ];
    expect([
      await one.shared.inbox.waiting(),
      await other.shared.inbox.waiting(),
    ]).toEqual([[taskId], []]);
    for (const entry of entries) {
      expect((await one.shared.inbox.next(taskId))?.id).toBe(entry);
      expect(
        await one.shared.inbox.reply(taskId, entry, fence, {
          case: "taken",
          sequence: 1n,
        }),
      ).toBe(true);
      expect(
        await one.shared.inbox.reply(taskId, entry, fence, {
          case: "taken",
          sequence: 2n,
        }),
      ).toBe(false);
      expect(await other.shared.inbox.takeReply(entry)).toEqual({
        case: "taken",
        sequence: 1n,
      });
      expect(await other.shared.inbox.takeReply(entry)).toBeUndefined();
    }
    expect(await one.shared.inbox.waiting()).toEqual([]);
  });

  it("gives an entry its reply together with the event that it causes, or neither", async () => {
    const schema = nextSchema();
    await using zombie = await open(schema);
    await using other = await open(schema);
    const { taskId, fence } = await begin(zombie);
    const [first, second] = [
      await other.shared.inbox.put(taskId, notice("a")),
      await other.shared.inbox.put(taskId, notice("b")),
    ];
    await zombie.append({
      events: [text(taskId, 2n, "a")],
      fence,
      answer: {
        entry: first,
        sequence: 2n,
      },
    });
    await server.run(
      `UPDATE ${schema}.replica SET alive_until = clock_timestamp()`,
    );
    const lease = await other.shared.leases.acquire(taskId);
    const late = zombie.append({
      events: [text(taskId, 3n, "late")],
      fence,
      answer: {
        entry: second,
        sequence: 3n,
      },
    });
    await expect(late).rejects.toMatchObject({ code: Code.Aborted });
    expect(
      await zombie.shared.inbox.reply(taskId, second, fence, {
        case: "taken",
        sequence: 3n,
      }),
    ).toBe(false);
    expect((await other.shared.inbox.next(taskId))?.id).toBe(second);
    await other.append({
      events: [text(taskId, 3n, "b")],
      fence: lease?.fence,
      answer: {
        entry: second,
        sequence: 3n,
      },
    });
    const replies = [
      await other.shared.inbox.takeReply(first),
      await other.shared.inbox.takeReply(second),
    ];
    expect(replies).toEqual(
      [2n, 3n].map((sequence) => ({ case: "taken", sequence })),
    );
    expect(await eventsOf(other, taskId)).toEqual([
      created(taskId),
      text(taskId, 2n, "a"),
      text(taskId, 3n, "b"),
    ]);
  });

  it("has a server without a lease take the tasks that have entries and no holder", async () => {
    const schema = nextSchema();
    await using one = await open(schema);
    await using other = await open(schema);
    const taskId = "t\\1\0";
    const lease = await one.shared.leases.create(taskId);
    await one.append({
      events: [{ ...created(taskId), state: TaskState.CANCELED }],
      fence: lease.fence,
    });
    await lease.release();
    expect(await other.shared.leases.orphaned()).toEqual([]);
    await one.shared.inbox.put(taskId, notice("a"));
    expect(await other.shared.leases.orphaned()).toEqual([taskId]);
  });

  it("wakes those who watch it, also when notifications are lost", async () => {
    await using store = await open(nextSchema());
    let wakes = 0;
    const watched = Promise.withResolvers<void>();
    using _watch = store.shared.inbox.watch(() => {
      if (++wakes === 3) watched.resolve();
    });
    // Nothing is put, so only the poll wakes.
    await watched.promise;
    await using other = await open(nextSchema());
    const woken = Promise.withResolvers<void>();
    using _other = other.shared.inbox.watch(() => woken.resolve());
    await other.shared.inbox.put("t1", notice("a"));
    await woken.promise;
  });
});

function notice(value: string): InboxRequest {
  return create(InboxRequestSchema, { request: { case: "notice", value } });
}
