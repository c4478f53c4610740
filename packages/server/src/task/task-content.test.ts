import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  emptyTask,
  LazyFold,
  Role,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
  ToolCallStatus,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { variantsOf } from "../../../../test/depth.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { readContent, TaskContent } from "./task-content.ts";
import { TaskHead } from "./task-head.ts";

type Payload = NonNullable<MessageInitShape<typeof TaskEventSchema>["payload"]>;

/** Seeds of random logs, and whether a call goes back in them. */
function seeds(length: number): (readonly [number, boolean])[] {
  return Array.from({ length }, (_, seed) => [seed, seed % 3 === 0]);
}

describe("the content of a task that is kept without", () => {
  it.each(variantsOf("logs", seeds(60), 12))(
    "is that of its log, however many of the last messages are read (seed %d, calls go back: %s)",
    async (seed, callsGoBack) => {
      const events = randomLog(seed, callsGoBack);
      const store = await storeOf(events);
      const whole = headOf(events);
      const head = withoutContent(whole);
      const { length } = whole.task.history;
      for (let messages = 0; messages <= length; messages++) {
        const content = new TaskContent(head, messages);
        await content.read(store);
        const found = content.of(head.task);
        expect(content.sequence).toBe(whole.sequence);
        // No agent's call goes back. Of a log in which one does, all is read.
        if (callsGoBack && !found) continue;
        expect(found?.artifacts).toEqual(whole.task.artifacts);
        expect(found?.history).toHaveLength(length);
        expect(found?.history.slice(length - messages)).toEqual(
          whole.task.history.slice(length - messages),
        );
      }
    },
  );

  it.each(variantsOf("logs", seeds(40), 8))(
    "is found from a stored head and the events after it (seed %d, calls go back: %s)",
    async (seed, callsGoBack) => {
      const events = randomLog(seed, callsGoBack);
      const store = await storeOf(events);
      const whole = headOf(events);
      for (let cut = 1; cut < events.length; cut += 5) {
        const { data, sequence } = headOf(events.slice(0, cut)).store();
        expect(sequence).toBe(BigInt(cut));
        const head = TaskHead.from(data, "none") ?? expect.fail();
        for (const event of events.slice(cut)) head.add(event);
        expect(withoutContent(head).task).toEqual(withoutContent(whole).task);
        expect(head.artifacts).toEqual(whole.artifacts);
        expect(await readContent(store, head, {})).toEqual(whole.task);
        if (callsGoBack) continue;
        expect(head.starts).toEqual(whole.starts);
        const last = await readContent(store, head, { messages: 2 });
        expect(last.history.slice(-2)).toEqual(whole.task.history.slice(-2));
      }
    },
  );

  it("is read from the last messages on, and from what artifacts are in", async () => {
    const turn = (at: number): Payload[] => [
      prompt(`m${at}`),
      ...Array.from({ length: 100 }, () => text("x")),
    ];
    const events = [
      created(),
      artifact("one"),
      ...Array.from({ length: 50 }, (_, at) => turn(at)).flat(),
    ].map(eventAt);
    const store = await storeOf(events);
    const head = withoutContent(headOf(events));
    // Two turns and one artifact.
    const content = new TaskContent(head, 4);
    await content.read(store);
    expect(content.of(head.task)?.artifacts[0]?.parts).toHaveLength(1);
    expect(store.read).toBeLessThan(2 * 101 + 10);
    store.read = 0;
    await new TaskContent(head, 0).read(store);
    expect(store.read).toBeLessThan(10);
  });
});

class CountingStore extends MemoryTaskStore {
  /** The number of events that were read. */
  read = 0;

  override async *readEvents(
    ...of: Parameters<MemoryTaskStore["readEvents"]>
  ): AsyncIterable<TaskEvent> {
    for await (const event of super.readEvents(...of)) {
      this.read++;
      yield event;
    }
  }
}

async function storeOf(events: readonly TaskEvent[]): Promise<CountingStore> {
  const store = new CountingStore();
  await store.append({ events });
  return store;
}

function headOf(events: readonly TaskEvent[]): TaskHead {
  const head = new TaskHead(emptyTask(), "all");
  for (const event of events) head.add(event);
  return head;
}

function withoutContent(head: TaskHead): TaskHead {
  const fold = new LazyFold(head.task, head.starts);
  fold.dropContent(0, head.task.history.length);
  return new TaskHead(fold.task, "none", head);
}

function randomLog(seed: number, callsGoBack: boolean): TaskEvent[] {
  let state = seed + 1;
  const next = (limit: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return Math.floor((state / 2 ** 31) * limit);
  };
  const { PENDING, EXECUTING, SUCCEEDED, FAILED } = ToolCallStatus;
  const statuses = [PENDING, EXECUTING, SUCCEEDED, FAILED];
  const reached = new Map<string, ToolCallStatus>();
  const nextCall = (): Payload => {
    const toolCallId = `c${next(callsGoBack ? 6 : 40)}`;
    const drawn = statuses[next(4)] ?? PENDING;
    const before = callsGoBack ? PENDING : (reached.get(toolCallId) ?? PENDING);
    const status = before > EXECUTING ? before : Math.max(before, drawn);
    reached.set(toolCallId, status);
    return call(toolCallId, status, count);
  };
  let count = 0;
  let queued: string[] = [];
  const steps: (() => Payload)[] = [
    () => text(`text ${count}`),
    () => text(`text ${count}`),
    () => ({ case: "thought", value: { description: `thought ${count}` } }),
    nextCall,
    nextCall,
    () => prompt(`m${count}`),
    () => answer(`c${next(callsGoBack ? 6 : 40)}`, `a${count}`),
    () => {
      queued.push(`q${count}`);
      const message = messageOf(`q${count}`);
      return { case: "messageQueued", value: { message } };
    },
    () => {
      const messageId = queued.shift() ?? "none";
      return { case: "messageTaken", value: { messageId } };
    },
    () => ({
      case: "messageWithdrawn",
      value: { messageId: queued.pop() ?? "none" },
    }),
    () => ({ case: "summary", value: { text: "sum", keptMessages: next(3) } }),
    () => artifact(`a${next(3)}`, next(2) === 0),
    () => ({ case: "stateChange", value: { text: `state ${count}` } }),
    () => {
      const { payload } = eventAt(nextCall(), 0);
      const openCalls = payload.case === "toolCall" ? [payload.value] : [];
      return { case: "stateChange", value: { openCalls } };
    },
    () => ({ case: "reply", value: messageOf(`r${count}`, Role.AGENT) }),
  ];
  const payloads: Payload[] = [created()];
  for (count = 1; count < 120; count++) {
    const step = steps[next(steps.length)];
    if (step) payloads.push(step());
    // A queue that empties now and then.
    if (count % 30 === 0) {
      for (const messageId of queued) {
        payloads.push({ case: "messageTaken", value: { messageId } });
      }
      queued = [];
    }
  }
  return payloads.map(eventAt);
}

function eventAt(payload: Payload, at: number): TaskEvent {
  return create(TaskEventSchema, {
    ...{ taskId: "t1", contextId: "c1", payload },
    sequence: BigInt(at + 1),
    state: TaskState.WORKING,
  });
}

function created(): Payload {
  return { case: "created", value: { message: messageOf("first") } };
}

function text(value: string): Payload {
  return { case: "text", value: { text: value } };
}

function prompt(messageId: string): Payload {
  return { case: "message", value: messageOf(messageId) };
}

function messageOf(messageId: string, role = Role.USER) {
  const content = { case: "text", value: `says ${messageId}` } as const;
  return { messageId, role, parts: [{ content }] };
}

function answer(toolCallId: string, messageId: string): Payload {
  const content = { case: "confirmation", value: { toolCallId } } as const;
  const value = { messageId, role: Role.USER, parts: [{ content }] };
  return { case: "message", value };
}

function call(
  toolCallId: string,
  status: ToolCallStatus,
  count: number,
): Payload {
  const inputParameters = { count };
  return { case: "toolCall", value: { toolCallId, status, inputParameters } };
}

function artifact(artifactId: string, append = false): Payload {
  const content = { case: "text", value: "in it" } as const;
  const value = { artifactId, parts: [{ content }] };
  return { case: "artifact", value: { artifact: value, append } };
}
