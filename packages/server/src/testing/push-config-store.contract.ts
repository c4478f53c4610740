import { create, toBinary } from "@bufbuild/protobuf";
import {
  PushProgressSchema,
  type PushSubscription,
  PushSubscriptionSchema,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Code } from "../errors.ts";
import {
  MAX_PUSH_CONFIGS,
  type PushConfigStore,
} from "../store/push-config-store.ts";
import { UNKNOWN } from "./task-events.ts";
import type { Keeping, OpenAt } from "./task-list.contract.ts";

/** An open store. */
export interface OpenedPushConfigStore extends AsyncDisposable {
  readonly configs: PushConfigStore;
}

/**
 * Tests the contract of `PushConfigStore`. The test of each implementation
 * calls it with a function that opens a store at a place, and opens it again
 * there.
 *
 * @param keeps `forgets` for a store that says of itself that it keeps nothing
 */
export function testPushConfigStore(
  openAt: OpenAt<OpenedPushConfigStore>,
  keeps: Keeping = "durable",
): void {
  const open = () => openAt(crypto.randomUUID());
  describe("a store of push configs", () => {
    testReopened(openAt, keeps);
    testConfigs(open);
    testProgress(open);
  });
}

function testReopened(
  openAt: OpenAt<OpenedPushConfigStore>,
  keeps: Keeping,
): void {
  const title =
    keeps === "forgets"
      ? "keeps nothing, as it declares, when it is opened again"
      : "has all when it is opened again, also what it does not know";
  it(title, async () => {
    const place = crypto.randomUUID();
    const stored = {
      ...subscription({ id: "a" }),
      progress: create(PushProgressSchema, { cursor: 7n, failures: 3 }),
      $unknown: UNKNOWN,
    };
    const bytesOf = (each: PushSubscription) =>
      Buffer.from(toBinary(PushSubscriptionSchema, each)).toString("hex");
    const all = [subscription({ id: "b" }), stored].map(bytesOf);
    {
      await using opened = await openAt(place);
      await opened.configs.put(subscription({ id: "b" }));
      await opened.configs.put({ ...stored, progress: undefined });
      const key = { taskId: "t1", configId: "a" };
      await opened.configs.saveProgress(key, stored.progress);
      await opened.configs.put(subscription({ id: "gone" }));
      await opened.configs.delete({ taskId: "t1", configId: "gone" });
      expect((await opened.configs.list("t1")).map(bytesOf)).toEqual(all);
    }
    await using opened = await openAt(place);
    const isKept = keeps === "durable";
    const listed = (await opened.configs.list("t1")).map(bytesOf);
    expect(listed).toEqual(isKept ? all : []);
    const active = await Array.fromAsync(opened.configs.activeTasks());
    expect(active).toEqual(isKept ? ["t1"] : []);
  });
}

function testConfigs(open: () => Promise<OpenedPushConfigStore>): void {
  it("lists the configs of a task in the order in which they were first stored", async () => {
    await using opened = await open();
    const { configs } = opened;
    for (const id of ["b", "a", "c"]) await configs.put(subscription({ id }));
    await configs.put(subscription({ id: "other", taskId: "t2" }));
    await configs.put(subscription({ id: "b", url: "https://new.test/" }));
    const listed = await configs.list("t1");
    expect(listed.map(({ config }) => `${config?.id} ${config?.url}`)).toEqual([
      "b https://new.test/",
      "a https://hook.test/",
      "c https://hook.test/",
    ]);
    expect(await configs.list("unknown")).toEqual([]);
  });

  it("refuses a config beyond the maximum, but replaces an existing one", async () => {
    await using opened = await open();
    const { configs } = opened;
    for (let id = 0; id < MAX_PUSH_CONFIGS; id++) {
      await configs.put(subscription({ id: `c${id}` }));
    }
    await expect(
      configs.put(subscription({ id: "more" })),
    ).rejects.toMatchObject({ code: Code.InvalidArgument });
    await configs.put(subscription({ id: "c3" }));
    expect(await configs.list("t1")).toHaveLength(MAX_PUSH_CONFIGS);
  });

  it("deletes a config, and ignores progress of a deleted one", async () => {
    await using opened = await open();
    const { configs } = opened;
    const key = { taskId: "t1", configId: "a" };
    await configs.put(subscription({ id: "a" }));
    await configs.delete(key);
    await configs.delete(key);
    await configs.saveProgress(key, create(PushProgressSchema, { cursor: 3n }));
    expect(await configs.get(key)).toBeUndefined();
    expect(await Array.fromAsync(configs.activeTasks())).toEqual([]);
  });
}

function testProgress(open: () => Promise<OpenedPushConfigStore>): void {
  it("keeps the cursor of a replaced config, and resets its failures and its end", async () => {
    await using opened = await open();
    const { configs } = opened;
    await configs.put(subscription({ id: "a" }));
    const progress = create(PushProgressSchema, {
      cursor: 7n,
      failures: 3,
      endedReason: "gone",
    });
    await configs.saveProgress({ taskId: "t1", configId: "a" }, progress);
    expect(
      (await configs.get({ taskId: "t1", configId: "a" }))?.progress,
    ).toEqual(progress);
    const replaced = await configs.put(subscription({ id: "a" }));
    expect(replaced.progress).toEqual(
      create(PushProgressSchema, { cursor: 7n }),
    );
    expect(await configs.get({ taskId: "t1", configId: "a" })).toEqual(
      replaced,
    );
  });

  it("lists each task with an active config once", async () => {
    await using opened = await open();
    const { configs } = opened;
    for (let task = 0; task < 600; task++) {
      await configs.put(subscription({ id: "a", taskId: `t${task}` }));
    }
    await configs.put(subscription({ id: "b", taskId: "t0" }));
    await configs.put(subscription({ id: "a", taskId: "ended" }));
    const ended = create(PushProgressSchema, {
      cursor: 1n,
      endedReason: "gone",
    });
    await configs.saveProgress({ taskId: "ended", configId: "a" }, ended);
    const tasks = await Array.fromAsync(configs.activeTasks());
    expect(new Set(tasks).size).toBe(600);
    expect([tasks.length, tasks.includes("ended")]).toEqual([600, false]);
  });
}

function subscription({
  id,
  taskId = "t1",
  url = "https://hook.test/",
}: {
  readonly id: string;
  readonly taskId?: string;
  readonly url?: string;
}): PushSubscription {
  return create(PushSubscriptionSchema, {
    config: { id, taskId, url },
    principal: "local",
    progress: { cursor: 1n },
  });
}
