import { expect, it } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import type { TaskChanges } from "../store/task-changes.ts";
import { TaskFeed } from "../task/task-feed.ts";
import { changesOfAll } from "./web-push.ts";

it("follows the changes of other servers only once it has begun", async () => {
  await using store = new MemoryTaskStore();
  const stop = new AbortController();
  let followed = 0;
  const nothing = (): Disposable => ({ [Symbol.dispose]: () => undefined });
  const changes: TaskChanges = {
    watch: nothing,
    watchAll: () => {
      followed++;
      return nothing();
    },
    watchGivenUp: nothing,
    watchDeleted: nothing,
  };
  const watch = { store, feed: new TaskFeed(), changes };
  const next = (onBegin: () => Promise<void>) =>
    changesOfAll(watch, onBegin, stop.signal)[Symbol.asyncIterator]().next();
  const fails = (): Promise<void> => Promise.reject(new Error("no store"));
  await expect(next(fails)).rejects.toThrow("no store");
  expect(followed).toBe(0);
  const begun = next(async () => stop.abort());
  await Promise.allSettled([begun]);
  expect(followed).toBe(1);
});
