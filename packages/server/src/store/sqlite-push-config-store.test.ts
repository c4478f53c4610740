import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { create } from "@bufbuild/protobuf";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { PushProgressSchema, PushSubscriptionSchema } from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import { testPushConfigStore } from "../testing/push-config-store.contract.ts";
import { created, eventsOf } from "../testing/task-events.ts";
import { SqliteTaskStore } from "./sqlite-task-store.ts";

describe("SqlitePushConfigStore", () => {
  let directory: string;
  beforeEach(() => {
    directory = temporaryDirectory();
  });

  const open = async (place = "tasks") => {
    const store = await SqliteTaskStore.open(join(directory, `${place}.db`));
    return {
      store,
      configs: store.pushConfigs,
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
  };
  testPushConfigStore(open);

  it("keeps configs and progress in the file of the tasks, including a file of an earlier release", async () => {
    await (await open())[Symbol.asyncDispose]();
    const earlier = new DatabaseSync(join(directory, "tasks.db"));
    earlier.exec("DROP TABLE push_config");
    earlier.close();
    const subscription = create(PushSubscriptionSchema, {
      config: { id: "a", taskId: "t1", url: "https://x.test/" },
    });
    const key = { taskId: "t1", configId: "a" };
    {
      await using opened = await open();
      await opened.store.append({ events: [created("t1")] });
      await opened.configs.put(subscription);
      const saves = [4n, 5n, 6n].map((cursor) =>
        opened.configs.saveProgress(
          key,
          create(PushProgressSchema, { cursor }),
        ),
      );
      await Promise.all(saves);
    }
    await using opened = await open();
    expect((await opened.configs.get(key))?.progress?.cursor).toBe(6n);
    expect(await eventsOf(opened.store, "t1")).toHaveLength(1);
  });
});
