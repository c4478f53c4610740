import { create } from "@bufbuild/protobuf";
import { PushProgressSchema, type PushSubscription, PushSubscriptionSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Code } from "../errors.ts";
import { MAX_PUSH_CONFIGS, type PushConfigStore } from "./push-config-store.ts";

/** A store that is open, and the way to end it. */
export interface OpenedPushConfigStore extends AsyncDisposable {
  readonly configs: PushConfigStore;
}

/** What every store of push configs must do; each one's test runs it with a way to open an empty one. */
export function testPushConfigStore(open: () => Promise<OpenedPushConfigStore>): void {
  describe("a store of push configs", () => {
    it("lists the configs of a task in the order they were stored, also after one was replaced", async () => {
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

    it("keeps the cursor of a config that is replaced, and forgets its failures and its end", async () => {
      await using opened = await open();
      const { configs } = opened;
      await configs.put(subscription({ id: "a" }));
      const progress = create(PushProgressSchema, { cursor: 7n, failures: 3, endedReason: "gone" });
      await configs.saveProgress({ taskId: "t1", configId: "a" }, progress);
      expect((await configs.get({ taskId: "t1", configId: "a" }))?.progress).toEqual(progress);
      const replaced = await configs.put(subscription({ id: "a" }));
      expect(replaced.progress).toEqual(create(PushProgressSchema, { cursor: 7n }));
      expect(await configs.get({ taskId: "t1", configId: "a" })).toEqual(replaced);
    });

    it("lists the tasks that still post, each once", async () => {
      await using opened = await open();
      const { configs } = opened;
      for (let task = 0; task < 600; task++) await configs.put(subscription({ id: "a", taskId: `t${task}` }));
      await configs.put(subscription({ id: "b", taskId: "t0" }));
      await configs.put(subscription({ id: "a", taskId: "ended" }));
      const ended = create(PushProgressSchema, { endedReason: "gone" });
      await configs.saveProgress({ taskId: "ended", configId: "a" }, ended);
      const tasks = await Array.fromAsync(configs.activeTasks());
      expect(new Set(tasks).size).toBe(600);
      expect([tasks.length, tasks.includes("ended")]).toEqual([600, false]);
    });

    it("refuses one config too many, but replaces one", async () => {
      await using opened = await open();
      const { configs } = opened;
      for (let id = 0; id < MAX_PUSH_CONFIGS; id++) await configs.put(subscription({ id: `c${id}` }));
      await expect(configs.put(subscription({ id: "more" }))).rejects.toMatchObject({ code: Code.InvalidArgument });
      await configs.put(subscription({ id: "c3" }));
      expect(await configs.list("t1")).toHaveLength(MAX_PUSH_CONFIGS);
    });

    it("deletes a config, and takes no progress for one that is gone", async () => {
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
  return create(PushSubscriptionSchema, { config: { id, taskId, url }, principal: "local", progress: { cursor: 1n } });
}
