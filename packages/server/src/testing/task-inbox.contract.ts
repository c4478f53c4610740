import { create } from "@bufbuild/protobuf";
import {
  type InboxRequest,
  InboxRequestSchema,
  TaskState,
} from "@devtool/schema";
import { expect, it } from "vitest";
import { Code } from "../errors.ts";
import type {
  SharedStore,
  SharedStoreGround,
} from "./shared-store.contract.ts";
import { created, eventsOf, text } from "./task-events.ts";

/** An id with what a store may have to escape. */
const TASK = "t\\1\0";

/** Tests the contract of `TaskInbox`. */
export function testTaskInbox<Store extends SharedStore>(
  make: () => SharedStoreGround<Store>,
): void {
  it("shows entries to the server that holds the task, in order, until they have a reply", async () => {
    const ground = make();
    await using one = await ground.open();
    await using other = await ground.open();
    const fence = await begin(one);
    const [inbox, theirs] = [one.shared.inbox, other.shared.inbox];
    const entries = [
      await theirs.put(TASK, notice("a")),
      await theirs.put(TASK, notice("b")),
    ];
    expect(await inbox.waiting()).toEqual([TASK]);
    expect(await theirs.waiting()).toEqual([]);
    const backlog = await inbox.backlog();
    expect(backlog).toEqual({ count: 2, oldestMs: expect.any(Number) });
    await expect
      .poll(async () => (await inbox.backlog()).oldestMs)
      .toBeGreaterThan(backlog.oldestMs);
    expect(await theirs.backlog()).toEqual({ count: 0, oldestMs: 0 });
    for (const entry of entries) {
      expect((await inbox.next(TASK))?.id).toBe(entry);
      const reply = { case: "taken", sequence: 1n } as const;
      const late = { case: "taken", sequence: 2n } as const;
      expect(await inbox.reply(TASK, entry, fence, reply)).toBe(true);
      expect(await inbox.reply(TASK, entry, fence, late)).toBe(false);
      expect(await theirs.takeReply(entry)).toEqual(reply);
      expect(await theirs.takeReply(entry)).toBeUndefined();
    }
    expect(await inbox.waiting()).toEqual([]);
    expect(await inbox.backlog()).toEqual({ count: 0, oldestMs: 0 });
    expect(await inbox.next(TASK)).toBeUndefined();
  });

  it("gives an entry its reply together with the event that it causes, or neither", async () => {
    const ground = make();
    await using zombie = await ground.open();
    await using other = await ground.open();
    const fence = await begin(zombie);
    const inbox = other.shared.inbox;
    const first = await inbox.put(TASK, notice("a"));
    const second = await inbox.put(TASK, notice("b"));
    const a = text(TASK, 2n, "a");
    const answered = { entry: first, sequence: 2n };
    await zombie.append({ events: [a], fence, answer: answered });
    await ground.expire(zombie);
    const lease = await other.shared.leases.acquire(TASK);
    const answer = { entry: second, sequence: 3n };
    const late = { events: [text(TASK, 3n, "late")], fence, answer };
    await expect(zombie.append(late)).rejects.toMatchObject({
      code: Code.Aborted,
    });
    expect(
      await zombie.shared.inbox.reply(TASK, second, fence, {
        case: "taken",
        sequence: 3n,
      }),
    ).toBe(false);
    expect((await inbox.next(TASK))?.id).toBe(second);
    const b = text(TASK, 3n, "b");
    await other.append({ events: [b], fence: lease?.fence, answer });
    expect(await inbox.takeReply(first)).toEqual({
      case: "taken",
      sequence: 2n,
    });
    expect(await inbox.takeReply(second)).toEqual({
      case: "taken",
      sequence: 3n,
    });
    expect(await eventsOf(other, TASK)).toEqual([created(TASK), a, b]);
  });

  it("has a server without a lease take the tasks that have entries and no holder", async () => {
    const ground = make();
    await using one = await ground.open();
    await using other = await ground.open();
    const lease = await one.shared.leases.create(TASK);
    const event = { ...created(TASK), state: TaskState.CANCELED };
    await one.append({ events: [event], fence: lease.fence });
    await lease.release();
    expect(await other.shared.leases.orphaned()).toEqual([]);
    await one.shared.inbox.put(TASK, notice("a"));
    expect(await other.shared.leases.orphaned()).toEqual([TASK]);
  });

  it("wakes those who watch it", async () => {
    const ground = make();
    await using one = await ground.open();
    await using other = await ground.open();
    const woken = Promise.withResolvers<void>();
    using _watch = one.shared.inbox.watch(() => woken.resolve());
    await other.shared.inbox.put(TASK, notice("a"));
    await woken.promise;
  });
}

/** Creates a task under a lease, and returns its fence. */
async function begin(store: SharedStore): Promise<bigint> {
  const { fence } = await store.shared.leases.create(TASK);
  await store.append({ events: [created(TASK)], fence });
  return fence;
}

function notice(value: string): InboxRequest {
  return create(InboxRequestSchema, { request: { case: "notice", value } });
}
