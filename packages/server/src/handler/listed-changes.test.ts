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

it("finds each change of others once, however many tasks have changed", async () => {
  await using store = new MemoryTaskStore();
  const listed = await ListedChanges.begin(store, undefined);
  const found: string[] = [];
  class Noting extends TaskWatch {
    override put({ last }: ListedTask): void {
      found.push(`${last.taskId} ${last.sequence}`);
    }
  }
  let ring = (): void => undefined;
  const changes: Pick<TaskChanges, "watchAll"> = {
    watchAll: (listener) => {
      ring = listener;
      return { [Symbol.dispose]: () => undefined };
    },
  };
  const left = new AbortController();
  const watch = new Noting(() => undefined);
  const following = listed.follow(changes, watch, left.signal);
  const appended: string[] = [];
  const append = async (event: TaskEvent): Promise<void> => {
    await store.append({ events: [event] });
    appended.push(`${event.taskId} ${event.sequence}`);
  };
  const settle = async (): Promise<void> => {
    ring();
    await expect
      .poll(() => found.length, { timeout: 60_000 })
      .toBeGreaterThanOrEqual(appended.length);
  };
  const COUNT = 1500;
  for (let at = 0; at < COUNT; at++) await append(created(`t${at}`, at + 1));
  await settle();
  // Pages of changes lead to those of which nothing is known any more.
  for (let at = 500; at < COUNT; at++) {
    await append(
      create(TaskEventSchema, {
        ...{ taskId: `t${at}`, sequence: 2n, state: TaskState.WORKING },
        time: timestampFromMs((COUNT + at) * 1000),
      }),
    );
  }
  await settle();
  left.abort();
  await following;
  expect(found.toSorted()).toEqual(appended.toSorted());
});
