import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type TaskEvent, TaskEventSchema, TaskState } from "@devtool/schema";
import { expect, it } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import type { TaskChanges } from "../store/task-changes.ts";
import type { ListedTask } from "../store/task-store.ts";
import { TaskWatch } from "../task/task-feed.ts";
import { created } from "../testing/task-events.ts";
import { ListedChanges } from "./listed-changes.ts";

it("finds each change of others, however many tasks have changed", async () => {
  await using store = new MemoryTaskStore();
  await using others = await followOthers(store);
  const appended: string[] = [];
  const append = async (event: TaskEvent): Promise<void> => {
    await store.append({ events: [event] });
    appended.push(`${event.taskId} ${event.sequence}`);
  };
  const COUNT = 1500;
  for (let at = 0; at < COUNT; at++) await append(created(`t${at}`, at + 1));
  await others.find(appended.length);
  // Pages of changes lead to those of which nothing is known any more.
  for (let at = 500; at < COUNT; at++) {
    await append(
      create(TaskEventSchema, {
        ...{ taskId: `t${at}`, sequence: 2n, state: TaskState.WORKING },
        time: timestampFromMs((COUNT + at) * 1000),
      }),
    );
  }
  await others.find(appended.length);
  expect([...new Set(others.found)].toSorted()).toEqual(appended.toSorted());
  // The one that was forgotten last may be found again.
  expect(others.found.length).toBeLessThanOrEqual(appended.length + 1);
});

it("finds a change in the same millisecond as one that it has forgotten", async () => {
  await using store = new MemoryTaskStore();
  await using others = await followOthers(store);
  for (let at = 0; at < 1001; at++) {
    await store.append({ events: [created(`t${at}`)] });
  }
  await others.find(1001);
  await store.append({ events: [created("z")] });
  await others.find(1002);
  expect(others.found.at(-1)).toBe("z 1");
});

/** Follows the changes in a store of which its server does not hear. */
async function followOthers(store: MemoryTaskStore) {
  const listed = await ListedChanges.begin(store, undefined);
  const found: string[] = [];
  class Noting extends TaskWatch {
    override put({ last }: ListedTask): void {
      found.push(`${last.taskId} ${last.sequence}`);
    }
  }
  let ring = (): void => undefined;
  const watchAll: TaskChanges["watchAll"] = (listener) => {
    ring = listener;
    return { [Symbol.dispose]: () => undefined };
  };
  const left = new AbortController();
  const watch = new Noting(() => undefined);
  const following = listed.follow({ watchAll }, watch, left.signal);
  return {
    found,
    /** Resolves once a number of changes are found. */
    find: async (count: number): Promise<void> => {
      ring();
      await expect
        .poll(() => found.length, { timeout: 60_000 })
        .toBeGreaterThanOrEqual(count);
    },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      left.abort();
      await following;
    },
  };
}
