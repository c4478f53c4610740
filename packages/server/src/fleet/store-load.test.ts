import { create } from "@bufbuild/protobuf";
import {
  TaskEventSchema,
  TaskState,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { NO_LABEL } from "../store/task-label.ts";
import { TaskFeed } from "../task/task-feed.ts";
import { created } from "../testing/task-events.ts";
import { StoreLoadReader } from "./store-load.ts";

const NOW_MS = 1_000_000;

describe("the load of a store", () => {
  it("is read once, and follows what is appended and deleted", async () => {
    const store = new CountingStore();
    const feed = new TaskFeed();
    const reader = new StoreLoadReader(store, feed);
    const change = async (taskId: string, state: TaskState, calls = 0) => {
      const events = [eventOf(taskId, await store.next(taskId), state, calls)];
      await store.append({ events });
      note(feed, events[0]);
    };
    for (const id of ["a", "b", "c"]) {
      await store.append({ events: [created(id)] });
    }
    expect(await read(reader)).toEqual({ submitted: 3, asking: 0, calls: 0 });
    const { lists } = store;
    await change("a", TaskState.WORKING);
    await change("b", TaskState.INPUT_REQUIRED, 2);
    await change("c", TaskState.COMPLETED);
    expect(await read(reader)).toEqual({ submitted: 0, asking: 1, calls: 2 });
    await change("c", TaskState.INPUT_REQUIRED, 1);
    feed.noteDeleted({ taskId: "b", contextId: "", principal: "me" });
    expect(await read(reader)).toEqual({ submitted: 0, asking: 1, calls: 1 });
    expect(store.lists).toBe(lists);
  });

  it("reads what is asked where something came after it", async () => {
    const store = new CountingStore();
    const feed = new TaskFeed();
    const reader = new StoreLoadReader(store, feed);
    await read(reader);
    const call = create(TaskEventSchema, {
      ...{ taskId: "a", sequence: 2n, state: TaskState.WORKING },
      payload: { case: "toolCall", value: asking("0") },
    });
    const asks = eventOf("a", 3n, TaskState.INPUT_REQUIRED, 1);
    const renamed = create(TaskEventSchema, {
      ...{ taskId: "a", sequence: 4n, state: TaskState.INPUT_REQUIRED },
      payload: { case: "renamed", value: { title: "New" } },
    });
    await store.append({ events: [created("a"), call, asks, renamed] });
    note(feed, renamed);
    expect(await read(reader)).toEqual({ submitted: 0, asking: 1, calls: 1 });
  });

  it("has nothing of a task that ends while all are read", async () => {
    const store = new CountingStore();
    const feed = new TaskFeed();
    const reader = new StoreLoadReader(store, feed);
    await store.append({ events: [created("a")] });
    store.onList = () => {
      store.onList = undefined;
      note(feed, eventOf("a", 9n, TaskState.COMPLETED));
    };
    expect(await read(reader)).toEqual({ submitted: 0, asking: 0, calls: 0 });
  });

  it("is read again after the store has failed", async () => {
    const store = new CountingStore();
    const reader = new StoreLoadReader(store, new TaskFeed());
    store.onList = () => {
      throw new Error("away");
    };
    await expect(read(reader)).rejects.toThrow("away");
    store.onList = undefined;
    await store.append({ events: [created("a")] });
    expect(await read(reader)).toMatchObject({ submitted: 1 });
  });
});

/** A store that counts how often it is listed. */
class CountingStore extends MemoryTaskStore {
  lists = 0;
  onList: (() => void) | undefined;

  override async list(query: Parameters<MemoryTaskStore["list"]>[0]) {
    this.lists++;
    const page = await super.list(query);
    this.onList?.();
    return page;
  }

  /** Returns the sequence of the next event of a task. */
  async next(taskId: string): Promise<bigint> {
    const events = await Array.fromAsync(this.readEvents(taskId, 0n));
    return BigInt(events.length + 1);
  }
}

function eventOf(
  taskId: string,
  sequence: bigint,
  state: TaskState,
  calls = 0,
) {
  const openCalls = Array.from({ length: calls }, (_call, index) =>
    asking(`${index}`),
  );
  return create(TaskEventSchema, {
    ...{ taskId, sequence, state },
    payload: { case: "stateChange", value: { openCalls } },
  });
}

function asking(toolCallId: string): ToolCall {
  const status = ToolCallStatus.PENDING;
  return create(ToolCallSchema, {
    ...{ toolCallId, status },
    confirmationRequest: {},
  });
}

function note(
  feed: TaskFeed,
  last: ReturnType<typeof eventOf> | undefined,
): void {
  if (last) feed.note({ ...NO_LABEL, principal: "me", last });
}

async function read(reader: StoreLoadReader) {
  const { unfinished, questions } = await reader.read(NOW_MS);
  return {
    submitted: unfinished.get(TaskState.SUBMITTED),
    asking: unfinished.get(TaskState.INPUT_REQUIRED),
    calls: questions.count,
  };
}
