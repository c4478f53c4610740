import { create } from "@bufbuild/protobuf";
import {
  AuditRecordSchema,
  PolicyFileSchema,
  PushProgressSchema,
  PushSubscriptionSchema,
  RuleDecision,
  SigningKeyFileSchema,
  UntoldCancelSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Code } from "../errors.ts";
import type { ServerStore, SharedTasks } from "../store/task-store.ts";
import { created, text } from "./task-events.ts";
import { testTaskInbox } from "./task-inbox.contract.ts";
import { testTaskLeases } from "./task-leases.contract.ts";

/** A store that several servers share, as one of them has it open. */
export interface SharedStore extends ServerStore {
  readonly shared: SharedTasks;
}

/** An empty store for the servers of one test. */
export interface SharedStoreGround<Store extends SharedStore> {
  /** Opens the store for one more server. The caller disposes of the result. */
  open(): Promise<Store>;

  /** Ends the leases of a server as if it had not renewed them in time. */
  expire(store: Store): Promise<void>;
}

/**
 * The time in milliseconds within which a server hears of another one's write,
 * with a margin for a busy machine.
 */
const HEARS_MS = 20_000;

/**
 * Tests the contracts of `SharedTasks` and of the fences of `TaskStore` and
 * `PushConfigStore`. The test of each implementation calls it with a function
 * that makes an empty store.
 */
export function testSharedStore<Store extends SharedStore>(
  make: () => SharedStoreGround<Store>,
): void {
  describe("leases", () => testTaskLeases(make));
  describe("the inbox", () => testTaskInbox(make));
  describe("changes", () => testTaskChanges(make));
  describe("messages and push configs under a lease", () => testFences(make));
  describe("signing keys and saved approvals", () => testKept(make));
  describe("cancellations that agents could not be told", () =>
    testUntoldCancels(make));
  describe("conversations of agents", () => testAgentSessions(make));
}

function testTaskChanges<Store extends SharedStore>(
  make: () => SharedStoreGround<Store>,
): void {
  it("wake who watches a task, or all tasks, that another server writes", async () => {
    const ground = make();
    await using writer = await ground.open();
    await using reader = await ground.open();
    const id = "nul\0 \\ \t";
    await writer.append({ events: [created(id)] });
    let wakes = 0;
    let wakesOfAll = 0;
    using _watch = reader.shared.changes.watch(id, () => wakes++);
    using _all = reader.shared.changes.watchAll(() => wakesOfAll++);
    for (const sequence of [2n, 3n]) {
      const before = [wakes, wakesOfAll];
      await writer.append({ events: [text(id, sequence)] });
      const after = async (): Promise<boolean> =>
        wakes > (before[0] ?? 0) && wakesOfAll > (before[1] ?? 0);
      await expect.poll(after, { timeout: HEARS_MS }).toBe(true);
    }
  });
}

function testFences<Store extends SharedStore>(
  make: () => SharedStoreGround<Store>,
): void {
  it("begin one task for a message, until it is forgotten", async () => {
    const ground = make();
    await using one = await ground.open();
    await using other = await ground.open();
    const { fence } = await one.shared.leases.create("t1");
    const first = created("t1");
    await one.append({ events: [first], fence });
    const again = await other.shared.leases.create("t2");
    const copy = { events: [created("t2")], fence: again.fence };
    await expect(other.append(copy)).rejects.toMatchObject({
      code: Code.Aborted,
    });
    expect((await other.findMessage("me", "m"))?.taskId).toBe("t1");
    await other.shared.forgetMessage("me", "m", first);
    await other.append(copy);
    expect((await one.findMessage("me", "m"))?.taskId).toBe("t2");
    // It has been used again since.
    await one.shared.forgetMessage("me", "m", first);
    expect((await one.findMessage("me", "m"))?.taskId).toBe("t2");
  });

  it("store no progress of a server whose task another one has acquired", async () => {
    const ground = make();
    await using zombie = await ground.open();
    await using other = await ground.open();
    const lease = await zombie.shared.leases.create("t1");
    await zombie.append({ events: [created("t1")], fence: lease.fence });
    const config = { taskId: "t1", id: "c", url: "https://hook.test/" };
    const progress = { cursor: 0n };
    await zombie.pushConfigs.put(
      create(PushSubscriptionSchema, { config, progress }),
    );
    await lease.release();
    const next = await other.shared.leases.acquire("t1");
    const key = { taskId: "t1", configId: "c" };
    const cursorAfter = async (
      server: Store,
      cursor: bigint,
      fence: bigint | undefined,
    ): Promise<bigint | undefined> => {
      const reached = create(PushProgressSchema, { cursor });
      await server.pushConfigs.saveProgress(key, reached, fence);
      return (await server.pushConfigs.get(key))?.progress?.cursor;
    };
    expect(await cursorAfter(zombie, 9n, lease.fence)).toBe(0n);
    expect(await cursorAfter(other, 1n, next?.fence)).toBe(1n);
  });
}

function testUntoldCancels<Store extends SharedStore>(
  make: () => SharedStoreGround<Store>,
): void {
  it("are read by every server, also when none had the store open, and removed once", async () => {
    const ground = make();
    const cancel = create(UntoldCancelSchema, {
      ...{ parentTaskId: "nul\0", toolCallId: "call", agent: "far" },
    });
    {
      await using one = await ground.open();
      const { untoldCancels } = one.shared;
      expect(await untoldCancels.list()).toEqual([]);
      await untoldCancels.put("a", create(UntoldCancelSchema));
      await untoldCancels.put("a", cancel);
    }
    await using one = await ground.open();
    await using other = await ground.open();
    const [mine, theirs] = [one.shared, other.shared].map(
      ({ untoldCancels }) => untoldCancels,
    );
    expect(await theirs?.list()).toEqual(["a"]);
    expect(await theirs?.read("a")).toEqual(cancel);
    expect(await theirs?.read("b")).toBeUndefined();
    const removed = [mine?.delete("a"), theirs?.delete("a")];
    expect((await Promise.all(removed)).toSorted()).toEqual([false, true]);
    expect(await mine?.list()).toEqual([]);
  });
}

function testKept<Store extends SharedStore>(
  make: () => SharedStoreGround<Store>,
): void {
  it("are stored in place of what was read, unless another server has stored others since", async () => {
    const ground = make();
    await using one = await ground.open();
    await using other = await ground.open();
    const rule = [{ commandPrefix: ["make a"], decision: RuleDecision.ALLOW }];
    const file = create(PolicyFileSchema, { rule });
    const [mine, theirs] = [one.shared.approvals, other.shared.approvals];
    const empty = await theirs.read();
    expect(empty.file.rule).toEqual([]);
    expect(await mine.replace(file, empty.version)).toBe(true);
    expect(await theirs.replace(empty.file, empty.version)).toBe(false);
    const kept = await theirs.read();
    expect(kept.file).toEqual(file);
    const replaced = await Promise.all(
      [mine, theirs].map((approvals) => approvals.replace(file, kept.version)),
    );
    expect(replaced.toSorted()).toEqual([false, true]);
    // As it was, and still another version: whoever read before must read
    // again.
    expect(await mine.replace(file, kept.version)).toBe(false);
  });

  it("are there when no server has had the store open", async () => {
    const ground = make();
    const file = create(PolicyFileSchema, {
      rule: [{ commandPrefix: ["make a"], decision: RuleDecision.ALLOW }],
    });
    const keys = create(SigningKeyFileSchema, { keys: [{}] });
    {
      await using one = await ground.open();
      const { approvals, keys: kept } = one.shared;
      await approvals.replace(file, (await approvals.read()).version);
      await kept.replace(keys, (await kept.read()).version);
    }
    await using later = await ground.open();
    expect((await later.shared.approvals.read()).file).toEqual(file);
    expect((await later.shared.keys.read()).keys).toEqual(keys);
  });

  it("are keys that the other servers read", async () => {
    const ground = make();
    await using one = await ground.open();
    await using other = await ground.open();
    const none = await one.shared.keys.read();
    expect(none.keys).toEqual(create(SigningKeyFileSchema));
    const keys = create(SigningKeyFileSchema, { keys: [{}] });
    expect(await one.shared.keys.replace(keys, none.version)).toBe(true);
    expect(await other.shared.keys.replace(none.keys, none.version)).toBe(
      false,
    );
    const kept = await other.shared.keys.read();
    expect(kept.keys).toEqual(keys);
    expect(await other.shared.keys.replace(keys, kept.version)).toBe(true);
    expect(await one.shared.keys.replace(keys, kept.version)).toBe(false);
  });
}

function testAgentSessions<Store extends SharedStore>(
  make: () => SharedStoreGround<Store>,
): void {
  const conversation = { principal: "me\0", contextId: "c\\" };

  it("have one server at a time, and tell it when another one was there", async () => {
    const ground = make();
    await using one = await ground.open();
    await using other = await ground.open();
    const begin = (store: Store) => store.shared.sessions.begin(conversation);
    const first = await begin(one);
    expect(first?.agentSessionId).toBe("");
    await first?.record("session\0 1");
    expect(await begin(other)).toBeUndefined();
    const second = await begin(one);
    expect(second).toMatchObject({
      fence: first?.fence,
      agentSessionId: "session\0 1",
    });
    await first?.[Symbol.asyncDispose]();
    expect(await begin(other)).toBeUndefined();
    await second?.[Symbol.asyncDispose]();
    const third = await begin(other);
    expect(third?.agentSessionId).toBe("session\0 1");
    expect(third?.fence).toBeGreaterThan(first?.fence ?? 0n);
    const elsewhere = { ...conversation, principal: "you" };
    expect((await one.shared.sessions.begin(elsewhere))?.agentSessionId).toBe(
      "",
    );
  });

  it("end with the last task of their conversation, also when all are deleted at once", async () => {
    await using store = await make().open();
    const own = { principal: "me", contextId: "c" };
    for (let round = 0; round < 10; round++) {
      const ids = ["t1", "t2", "t3", "t4"];
      for (const id of ids) await store.append({ events: [created(id)] });
      const turn = await store.shared.sessions.begin(own);
      expect(turn?.agentSessionId).toBe("");
      await turn?.record("of them");
      await turn?.[Symbol.asyncDispose]();
      const record = create(AuditRecordSchema);
      await Promise.all(
        ids.map((taskId) => store.delete({ taskId, sequence: 1n, record })),
      );
    }
  });

  it("are free when their server has lost its leases", async () => {
    const ground = make();
    await using zombie = await ground.open();
    await using other = await ground.open();
    await zombie.shared.sessions.begin(conversation);
    await ground.expire(zombie);
    expect(await other.shared.sessions.begin(conversation)).toBeDefined();
  });
}
