import { create } from "@bufbuild/protobuf";
import {
  emptyTask,
  TaskEventSchema,
  TaskState,
  type ToolCall,
  ToolCallSchema,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it, vi } from "vitest";
import { Code, DevtoolError } from "../errors.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { NO_LABEL } from "../store/task-label.ts";
import type { ServerStore } from "../store/task-store.ts";
import { TaskFeed } from "../task/task-feed.ts";
import { TaskHead } from "../task/task-head.ts";
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
    const asks = eventOf("a", 3n, TaskState.INPUT_REQUIRED, 1);
    const renamed = renamedAt("a", 4n);
    const events = [created("a"), callOf("a", 2n), asks, renamed];
    await store.append({ events });
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

  it("of servers that share it is listed once, and then read without events", async () => {
    const store = new SharedStore();
    const reader = new StoreLoadReader(store, new TaskFeed());
    for (const id of ["a", "b", "c"]) {
      await store.append({ events: [created(id)] });
    }
    expect(await read(reader)).toEqual({ submitted: 3, asking: 0, calls: 0 });
    const { lists } = store;
    // Another server appends: nothing is heard of it here.
    const asks = eventOf("b", 2n, TaskState.INPUT_REQUIRED, 2);
    await store.append({ events: [asks] });
    const ends = eventOf("c", 2n, TaskState.COMPLETED);
    await store.append({ events: [ends] });
    expect(await read(reader)).toEqual({ submitted: 1, asking: 1, calls: 2 });
    const answered = eventOf("b", 3n, TaskState.COMPLETED);
    await store.append({ events: [answered] });
    expect(await read(reader)).toEqual({ submitted: 1, asking: 0, calls: 0 });
    expect(store.lists).toBe(lists);
  });

  it("has what a long task asks from its stored head on", async () => {
    const store = new CountingStore();
    const head = new TaskHead(emptyTask(), "none");
    const events = [created("a"), callOf("a", 2n)];
    for (const event of events) head.add(event);
    const asks = eventOf("a", 3n, TaskState.INPUT_REQUIRED, 1);
    await store.append({ events: [...events, asks, renamedAt("a", 4n)] });
    await store.putHead(head.store());
    const reads = vi.spyOn(store, "readEvents");
    const reader = new StoreLoadReader(store, new TaskFeed());
    expect(await read(reader)).toEqual({ submitted: 0, asking: 1, calls: 1 });
    expect(reads.mock.calls.map(([, after]) => after)).toEqual([3n, 2n]);
  });

  it("has all but the questions of a task whose log is damaged", async () => {
    const store = new CountingStore();
    for (const id of ["a", "b"]) {
      const asks = eventOf(id, 3n, TaskState.INPUT_REQUIRED, 1);
      const events = [created(id), callOf(id, 2n), asks, renamedAt(id, 4n)];
      await store.append({ events });
    }
    const readEvents = store.readEvents.bind(store);
    vi.spyOn(store, "readEvents").mockImplementation((id, after) => {
      if (id === "a") throw new DevtoolError("damaged", Code.DataLoss);
      return readEvents(id, after);
    });
    const reader = new StoreLoadReader(store, new TaskFeed());
    expect(await read(reader)).toEqual({ submitted: 0, asking: 2, calls: 1 });
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

/** A store that other servers change as well, as far as its load is read. */
class SharedStore extends CountingStore {
  readonly shared: NonNullable<ServerStore["shared"]> = Object.create(null);
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

function callOf(taskId: string, sequence: bigint) {
  return create(TaskEventSchema, {
    ...{ taskId, sequence, state: TaskState.WORKING },
    payload: { case: "toolCall", value: asking("0") },
  });
}

function renamedAt(taskId: string, sequence: bigint) {
  return create(TaskEventSchema, {
    ...{ taskId, sequence, state: TaskState.INPUT_REQUIRED },
    payload: { case: "renamed", value: { title: "New" } },
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
