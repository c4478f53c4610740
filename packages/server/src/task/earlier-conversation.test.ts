import { create } from "@bufbuild/protobuf";
import { CALL_CHAIN_URI } from "@devtool/internal/call-chain-uri";
import {
  emptyTask,
  MessageSchema,
  Role,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { type Earlier, EarlierConversation } from "./earlier-conversation.ts";

interface Told {
  readonly contextId?: string;
  readonly principal?: string;
  readonly refersTo?: readonly string[];
  readonly state?: TaskState;
  /**
   * The number of messages before it that a summary in the task keeps. Default:
   * no summary.
   */
  readonly keeps?: number;
  /** The task that it is a fork of, and the last event of that. */
  readonly fork?: readonly [taskId: string, lastSequence: bigint];
  /** How many characters the agent says beside a few. Default: none. */
  readonly extra?: number;
}

describe("the messages before a task (STREAM-5)", () => {
  it("are those of the tasks that it refers to, and that those refer to, oldest first and each once", async () => {
    const store = await storeWith({
      a: {},
      b: { refersTo: ["a"] },
      c: { refersTo: ["b", "a"] },
    });
    expect(
      textsOf(
        await new EarlierConversation().of(
          store,
          task("d", { refersTo: ["c", "a"] }),
        ),
      ),
    ).toEqual(["to a", "from a", "to b", "from b", "to c", "from c"]);
  });

  it("have no content of a long task for an agent that needs none", async () => {
    const store = await storeWith({ a: { extra: 5_000_000 } });
    const earlier = new EarlierConversation();
    const later = task("b", { refersTo: ["a"] });
    const sizes: number[] = [];
    for (const need of ["for-model", "none", "for-model"] as const) {
      const texts = textsOf(await earlier.of(store, later, need));
      expect(texts).toHaveLength(2);
      sizes.push(texts.join("").length);
    }
    expect(sizes).toEqual([5_000_010, "to a".length, 5_000_010]);
  });

  it("are none for a task without references, and end at a circle of references", async () => {
    const store = await storeWith({
      a: { refersTo: ["b"] },
      b: { refersTo: ["a", "d"] },
    });
    expect(await new EarlierConversation().of(store, task("d", {}))).toEqual({
      before: [],
      missing: [],
    });
    expect(
      textsOf(
        await new EarlierConversation().of(
          store,
          task("d", { refersTo: ["a"] }),
        ),
      ),
    ).toEqual(["to b", "from b", "to a", "from a"]);
  });

  it("leave out the task that calls, without reading it", async () => {
    const store = await storeWith({ a: {}, caller: {} });
    const read: string[] = [];
    const { readEvents } = store;
    store.readEvents = (id, after) => {
      read.push(id);
      return readEvents.call(store, id, after);
    };
    const called = task("b", { refersTo: ["caller", "a"] });
    const [first] = called.history;
    if (first) {
      first.metadata = { [CALL_CHAIN_URI]: { parentTaskId: "caller" } };
    }
    const earlier = await new EarlierConversation().of(store, called);
    expect(textsOf(earlier)).toEqual(["to a", "from a"]);
    expect(new Set(read)).toEqual(new Set(["a"]));
  });

  it.each<[string, Told, string[]]>([
    ["of somebody else", { principal: "eve" }, ["a", "nowhere"]],
    ["of another context", { contextId: "other" }, ["nowhere"]],
    ["that has not ended", { state: TaskState.WORKING }, ["nowhere"]],
    ["that waits", { state: TaskState.INPUT_REQUIRED }, ["nowhere"]],
  ])("has nothing of a task %s", async (_what, about, missing) => {
    const store = await storeWith({ a: about });
    expect(
      await new EarlierConversation().of(
        store,
        task("d", { refersTo: ["a", "nowhere"] }),
      ),
    ).toMatchObject({ before: [], missing });
  });

  it("go back no further than a summary that replaces everything before it", async () => {
    const summed = await storeWith({ a: {}, b: { refersTo: ["a"], keeps: 1 } });
    expect(
      textsOf(
        await new EarlierConversation().of(
          summed,
          task("d", { refersTo: ["b"] }),
        ),
      ),
    ).toEqual(["to b", "summary", "from b"]);
    const keeping = await storeWith({
      a: {},
      b: { refersTo: ["a"], keeps: 2 },
    });
    expect(
      textsOf(
        await new EarlierConversation().of(
          keeping,
          task("d", { refersTo: ["b"] }),
        ),
      )[0],
    ).toBe("to a");
  });

  it.each<[string, bigint, string[]]>([
    ["all of another context", 3n, ["to a", "from a", "to b", "from b"]],
    ["the beginning of a task", 1n, ["to a", "from a", "to b"]],
    ["what was said before a task", 0n, ["to a", "from a"]],
  ])(
    "are, for a fork, %s, whatever state that is in",
    async (_what, last, texts) => {
      const other = { contextId: "other", state: TaskState.WORKING };
      const store = await storeWith({
        a: { contextId: "other" },
        b: { ...other, refersTo: ["a"] },
      });
      const fork = task("d", { fork: ["b", last] });
      const { before, missing } = await new EarlierConversation().of(
        store,
        fork,
      );
      expect([textsOf({ before, missing }), missing]).toEqual([texts, []]);
      const eve = task("d", { fork: ["b", last], principal: "eve" });
      const nothing = { before: [], missing: ["b"] };
      expect(await new EarlierConversation().of(store, eve)).toMatchObject(
        nothing,
      );
    },
  );

  it("are read again for a fork when a task of the other conversation was deleted since", async () => {
    const other = { contextId: "other" };
    const b = { ...other, refersTo: ["a"] };
    const whole = await storeWith({ a: other, b });
    const earlier = new EarlierConversation();
    const fork = task("d", { fork: ["b", 3n] });
    const texts = ["to a", "from a", "to b", "from b"];
    expect(textsOf(await earlier.of(whole, fork))).toEqual(texts);
    const left = await earlier.of(await storeWith({ b }), fork);
    expect([textsOf(left), left.missing]).toEqual([["to b", "from b"], ["a"]]);
    expect(textsOf(await earlier.of(whole, fork))).toEqual(texts);
    const none = await earlier.of(new MemoryTaskStore(), fork);
    expect([none.before, none.missing]).toEqual([[], ["b"]]);
  });

  it("take few requests to the store for a fork of a long conversation, which are those for its tasks", async () => {
    const store = new CountingStore();
    const told = (index: number): Told => ({
      contextId: "other",
      refersTo: index === 0 ? [] : [`t${index - 1}`],
    });
    for (let index = 0; index < 250; index++) {
      await store.append({ events: eventsOf(`t${index}`, told(index)) });
    }
    const earlier = new EarlierConversation();
    const fork = task("d", { fork: ["t249", 3n] });
    expect((await earlier.of(store, fork)).before).toHaveLength(500);
    store.reads = 0;
    expect((await earlier.of(store, fork)).before).toHaveLength(500);
    expect([store.reads, store.lists]).toEqual([0, 3]);
    // The other conversation goes on, and has a page of later tasks.
    for (let index = 0; index < 100; index++) {
      const events = eventsOf(`z${index}`, { contextId: "other" });
      await store.append({ events });
    }
    expect((await earlier.of(store, fork)).before).toHaveLength(500);
    expect([store.reads, store.lists]).toEqual([250, 4]);
  });

  it("are missing for a fork whose origin has fewer events than it takes", async () => {
    const store = await storeWith({ a: { contextId: "other" } });
    const fork = task("d", { fork: ["a", 4n] });
    expect(await new EarlierConversation().of(store, fork)).toMatchObject({
      before: [],
      missing: ["a"],
    });
  });

  it("take one log to read per turn, however long the chain is", async () => {
    const store = new CountingStore();
    const earlier = new EarlierConversation();
    const reads: number[] = [];
    for (let index = 1; index <= 100; index++) {
      const told = { refersTo: index === 1 ? [] : [`t${index - 1}`] };
      store.reads = 0;
      const { before } = await earlier.of(store, task(`t${index}`, told));
      expect(before).toHaveLength(2 * (index - 1));
      reads.push(store.reads);
      await store.append({ events: eventsOf(`t${index}`, told) });
      earlier.noteChange(`t${index}`);
    }
    expect(reads).toEqual([0, ...Array.from({ length: 99 }, () => 1)]);
  });

  it("have a task that another server has ended since they were read", async () => {
    const store = await storeWith({
      a: {},
      b: { refersTo: ["a"], state: TaskState.INPUT_REQUIRED },
    });
    const earlier = new EarlierConversation();
    const later = task("d", { refersTo: ["a", "b", "c"] });
    expect(textsOf(await earlier.of(store, later))).toEqual(["to a", "from a"]);
    const last = eventsOf("b", {}).at(-1);
    if (last) {
      const event = { ...last, sequence: last.sequence + 1n };
      await store.append({ events: [event] });
    }
    expect(textsOf(await earlier.of(store, later))).toEqual([
      "to a",
      "from a",
      "to b",
      "from b",
    ]);
    await store.append({ events: eventsOf("c", {}) });
    expect(textsOf(await earlier.of(store, later))).toContain("from c");
  });

  it("are read again when one of their tasks has changed, also during the read", async () => {
    const store = new CountingStore();
    for (const [id, told] of [
      ["a", {}],
      ["b", { refersTo: ["a"] }],
      ["c", { refersTo: ["b"] }],
    ] as const) {
      await store.append({ events: eventsOf(id, told) });
    }
    const earlier = new EarlierConversation();
    await earlier.of(store, task("c", { refersTo: ["b"] }));
    earlier.noteChange("a");
    const reading = earlier.of(store, task("d", { refersTo: ["c"] }));
    earlier.noteChange("b");
    expect(textsOf(await reading)).toHaveLength(6);
    store.reads = 0;
    await earlier.of(store, task("d", { refersTo: ["c"] }));
    expect(store.reads).toBe(3);
  });
});

class CountingStore extends MemoryTaskStore {
  reads = 0;
  lists = 0;

  override list(
    query: Parameters<MemoryTaskStore["list"]>[0],
  ): ReturnType<MemoryTaskStore["list"]> {
    this.lists++;
    return super.list(query);
  }

  override readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent> {
    this.reads++;
    return super.readEvents(taskId, after);
  }
}

async function storeWith(
  tasks: Readonly<Record<string, Told>>,
): Promise<MemoryTaskStore> {
  const store = new MemoryTaskStore();
  for (const [id, told] of Object.entries(tasks)) {
    await store.append({ events: eventsOf(id, told) });
  }
  return store;
}

function task(id: string, told: Told): Task {
  return eventsOf(id, told).slice(0, 1).reduce(reduceTask, emptyTask());
}

function eventsOf(id: string, told: Told): TaskEvent[] {
  const {
    contextId = "c",
    principal = "ada",
    refersTo = [],
    fork,
    state = TaskState.COMPLETED,
    keeps,
    extra = 0,
  } = told;
  const message = create(MessageSchema, {
    messageId: `m-${id}`,
    role: Role.USER,
    parts: [{ content: { case: "text", value: `to ${id}` } }],
    referenceTaskIds: [...refersTo],
    ...(fork && { fork: { taskId: fork[0], lastSequence: fork[1] } }),
  });
  const summary = {
    case: "summary",
    value: { text: "summary", keptMessages: keeps ?? 0 },
  } as const;
  const payloads = [
    { case: "created", value: { message, principal } } as const,
    ...(keeps === undefined ? [] : [summary]),
    {
      case: "text",
      value: { text: `from ${id}${"x".repeat(extra)}` },
    } as const,
    { case: "stateChange", value: {} } as const,
  ];
  return payloads.map((payload, index) => {
    const last = index === payloads.length - 1;
    const now = last ? state : TaskState.WORKING;
    return create(TaskEventSchema, {
      sequence: BigInt(index + 1),
      taskId: id,
      contextId,
      state: now,
      payload,
    });
  });
}

function textsOf({ before }: Earlier): string[] {
  return before.map(({ parts }) => {
    const content = parts[0]?.content;
    if (content?.case === "summary") return content.value.text;
    return content?.case === "text" ? content.value : "";
  });
}
