import { create } from "@bufbuild/protobuf";
import { TaskEventSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { NO_LABEL } from "../store/task-label.ts";
import type { ListedTask } from "../store/task-store.ts";
import { TaskFeed, type TaskWatch } from "./task-feed.ts";

describe("the feed of changes", () => {
  it("has for a slow reader the newest event of each task", async () => {
    const feed = new TaskFeed();
    using watch = feed.watch("ada");
    for (let sequence = 1; sequence <= 10_000; sequence++) {
      feed.note(eventOf("one", sequence));
    }
    feed.note(eventOf("two", 1));
    const seen: string[] = [];
    for await (const { taskId, sequence } of lastOf(
      watch,
      AbortSignal.timeout(180_000),
    )) {
      seen.push(`${taskId} ${sequence}`);
      if (seen.length === 1) feed.note(eventOf("two", 2));
      if (taskId === "two") break;
    }
    expect(seen).toEqual(["one 10000", "two 2"]);
  });

  it("says that a task was deleted in place of its changes, to its principal", async () => {
    const feed = new TaskFeed();
    using watch = feed.watch("ada");
    using other = feed.watch("bob");
    const gone = { taskId: "one", contextId: "c", principal: "ada" };
    feed.note(eventOf("one", 1));
    feed.noteDeleted(gone);
    feed.note(eventOf("one", 2));
    feed.note(eventOf("his", 1, "bob"));
    for await (const task of watch.read(AbortSignal.timeout(180_000))) {
      expect(task).toEqual(gone);
      break;
    }
    for await (const { taskId } of lastOf(
      other,
      AbortSignal.timeout(180_000),
    )) {
      expect(taskId).toBe("his");
      break;
    }
  });

  it("has no events of other principals", async () => {
    const feed = new TaskFeed();
    using watch = feed.watch("ada");
    using _other = feed.watch("bob");
    feed.note(eventOf("his", 1, "bob"));
    feed.note(eventOf("hers", 1));
    for await (const { taskId } of lastOf(
      watch,
      AbortSignal.timeout(180_000),
    )) {
      expect(taskId).toBe("hers");
      break;
    }
  });

  it("has the events and deletions of all principals for who watches all", async () => {
    const feed = new TaskFeed();
    using watch = feed.watch(undefined);
    feed.note(eventOf("hers", 1));
    feed.note(eventOf("his", 1, "bob"));
    feed.noteDeleted({ taskId: "gone", contextId: "c", principal: "bob" });
    const seen: string[] = [];
    for await (const task of watch.read(AbortSignal.timeout(180_000))) {
      seen.push("last" in task ? task.last.taskId : `no ${task.taskId}`);
      if (seen.length === 3) break;
    }
    expect(seen).toEqual(["hers", "his", "no gone"]);
  });

  it("wakes a reader that waits, and ends it when its signal aborts", async () => {
    const feed = new TaskFeed();
    using watch = feed.watch("ada");
    const controller = new AbortController();
    const seen: bigint[] = [];
    const read = (async () => {
      for await (const { sequence } of lastOf(watch, controller.signal)) {
        seen.push(sequence);
        if (seen.length === 2) {
          controller.abort(new Error("enough"));
        } else {
          setTimeout(() => feed.note(eventOf("one", 2)), 200);
        }
      }
    })();
    feed.note(eventOf("one", 1));
    await expect(read).rejects.toThrow("enough");
    expect(seen).toEqual([1n, 2n]);
  });

  it("is not watched after each watch was closed", () => {
    const feed = new TaskFeed();
    expect(feed.isWatched).toBe(false);
    const [one, two] = [feed.watch("ada"), feed.watch("ada")];
    one[Symbol.dispose]();
    expect(feed.isWatched).toBe(true);
    two[Symbol.dispose]();
    expect(feed.isWatched).toBe(false);
  });
});

function eventOf(
  taskId: string,
  sequence: number,
  principal = "ada",
): ListedTask {
  return {
    ...NO_LABEL,
    principal,
    last: create(TaskEventSchema, { taskId, sequence: BigInt(sequence) }),
  };
}

async function* lastOf(watch: TaskWatch, signal: AbortSignal) {
  for await (const task of watch.read(signal)) {
    if ("last" in task) yield task.last;
  }
}
