import { create } from "@bufbuild/protobuf";
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

/** An open store. */
export interface OpenedPushConfigStore extends AsyncDisposable {
  readonly configs: PushConfigStore;
}

/**
 * Tests the contract of `PushConfigStore`. The test of each implementation
 * calls it with a function that opens an empty store.
 */
export function testPushConfigStore(
  open: () => Promise<OpenedPushConfigStore>,
): void {
  describe("a store of push configs", () => {
    testConfigs(open);
    testProgress(open);
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
