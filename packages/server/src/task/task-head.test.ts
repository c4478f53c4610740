import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  ApprovalMode,
  ArtifactUpdateSchema,
  emptyTask,
  type Message,
  MessageSchema,
  Role,
  StoredHeadSchema,
  SummarySchema,
  type Task,
  TaskCreatedSchema,
  type TaskEvent,
  TaskState,
  TextContentSchema,
} from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { charactersIn } from "./characters-in.ts";
import { Conversation } from "./conversation.ts";
import { EventLog, type LogEntry } from "./event-log.ts";
import { readHead, readTask } from "./read-task.ts";
import { type HistoryNeed, TaskHead } from "./task-head.ts";

const MEGABYTE = 1024 * 1024;
/** What the head of a log has at most, with what it has grown by since. */
const MOST = 6 * MEGABYTE;

describe("the head of a long task", () => {
  let store: CountingStore;
  beforeEach(() => {
    store = new CountingStore();
  });

  it("holds a few megabytes of one answer, and the store has the rest", async () => {
    const log = await logOf("none");
    let most = 0;
    for (let piece = 0; piece < 40; piece++) {
      await log.append([text(`${piece}`.repeat(MEGABYTE / 4))]);
      most = Math.max(most, charactersIn(log.task.history));
    }
    expect(most).toBeLessThan(MOST);
    const whole = await log.whole();
    expect(charactersIn(whole.history)).toBeGreaterThan(10 * MEGABYTE);
    expect(whole).toEqual(await readTask(store, "t1"));
  });

  it("holds a few megabytes of many turns", async () => {
    const log = await logOf("none");
    for (let turn = 0; turn < 40; turn++) {
      await log.append([message(`m${turn}`), text("x".repeat(MEGABYTE / 2))]);
    }
    expect(charactersIn(log.task.history)).toBeLessThan(MOST);
    expect(log.task.history.map(({ messageId }) => messageId)).toEqual(
      (await log.whole()).history.map(({ messageId }) => messageId),
    );
    expect(await log.whole()).toEqual(await readTask(store, "t1"));
  });

  it("gives the last messages without a read, and all with one", async () => {
    const log = await logOf("none");
    await log.append([text("x".repeat(20 * MEGABYTE))]);
    await log.append([message("last"), text("short")]);
    expect((await log.whole(2)).history.slice(-2)).toEqual(
      log.task.history.slice(-2),
    );
    expect(store.reads).toBe(0);
    const [one, other] = await Promise.all([log.whole(), log.whole()]);
    expect(one).toBe(other);
    expect(store.reads).toBe(1);
  });

  it("includes in the whole task what is not durable yet", async () => {
    const log = await logOf("none");
    await log.append([text("x".repeat(5 * MEGABYTE))]);
    const appended = [1, 2, 3].map((piece) => log.append([text(`${piece}`)]));
    const whole = await log.whole();
    expect(whole.sequence).toBe(log.task.sequence);
    expect(textsIn(whole).slice(-3)).toBe("123");
    await Promise.all(appended);
    expect(await log.whole()).toEqual(await readTask(store, "t1"));
  });

  it("keeps for a model all since the last summary, and is read with that", async () => {
    const log = await logOf("for-model");
    const long = text("x".repeat(4 * MEGABYTE));
    await log.append([long, message("kept"), text("kept"), summary(2), long]);
    await log.append([long, message("new"), long]);
    const whole = await log.whole();
    const found = log.task.history;
    expect(charactersIn(found[1])).toBeLessThan(100);
    expect(found.slice(2)).toEqual(whole.history.slice(2));
    const read = await readTask(store, "t1", "for-model");
    expect(read?.history.slice(2)).toEqual(whole.history.slice(2));
    expect(charactersIn(read?.history[1])).toBeLessThan(100);
  });

  it("is whole without a read where a model needs all of it", async () => {
    const log = await logOf("for-model");
    const artifact = { artifactId: "a", parts: [{}] };
    const value = create(ArtifactUpdateSchema, { artifact });
    await log.append([{ payload: { case: "artifact", value } }]);
    await log.append([text("x".repeat(5 * MEGABYTE))]);
    store.reads = 0;
    expect(await log.whole()).toEqual(log.task);
    expect(store.reads).toBe(0);
    expect(log.task.artifacts[0]?.parts).toHaveLength(1);
  });

  it("drops prompts of turns that are over, however much followed them", async () => {
    const log = await logOf("none");
    for (let turn = 0; turn < 3; turn++) {
      await log.append([message(`m${turn}`, "x".repeat(3 * MEGABYTE))]);
      await log.append([text("x".repeat(5 * MEGABYTE))]);
    }
    await log.append([message("last"), text("x".repeat(5 * MEGABYTE))]);
    expect(charactersIn(log.task.history)).toBeLessThan(MOST);
  });

  it("is stored when it has grown by megabytes, so that a reader begins there", async () => {
    const log = await logOf("for-model");
    await log.append([text("x".repeat(3 * MEGABYTE))]);
    expect(await store.readHead("t1")).toBeUndefined();
    const long = [text("x".repeat(2 * MEGABYTE)), message("m1"), text("y")];
    await log.append(long);
    await log.append([text("z")]);
    const data = (await store.readHead("t1")) ?? expect.fail();
    expect(data.length).toBeLessThan(1000);
    expect(TaskHead.from(data, "none")?.sequence).toBe(5n);
    const readFrom: bigint[] = [];
    store.cut = (events, after) => {
      readFrom.push(after);
      return events;
    };
    const head = await readHead(store, "t1", "for-model");
    expect(readFrom[0]).toBe(5n);
    expect(head?.hasNeeded).toBe(false);
    expect(await readTask(store, "t1", "for-model")).toEqual(log.task);
  });

  it("is stored with the approval limit of the log, however narrow that of the open task is", async () => {
    const limit = (approvalLimit: ApprovalMode): Task => ({
      ...emptyTask(),
      ...{ id: "t1", approvalLimit },
    });
    const read = new TaskHead(limit(ApprovalMode.YOLO), "none");
    const open = new TaskHead(limit(ApprovalMode.DEFAULT), "none", read);
    expect(open.task.approvalLimit).toBe(ApprovalMode.DEFAULT);
    const stored = TaskHead.from(open.store().data, "none");
    expect(stored?.task.approvalLimit).toBe(ApprovalMode.YOLO);
  });

  it("is not begun from one of another release, or one that is damaged", () => {
    const { data } = new TaskHead({ ...emptyTask(), id: "t1" }, "none").store();
    const stored = fromBinary(StoredHeadSchema, data);
    const other = { ...stored, version: "0.0.1" };
    expect(TaskHead.from(data, "none")).toBeDefined();
    const bytes = toBinary(StoredHeadSchema, other);
    expect(TaskHead.from(bytes, "none")).toBeUndefined();
    expect(TaskHead.from(data.subarray(1), "none")).toBeUndefined();
  });

  it("is not read of a task that is deleted meanwhile", async () => {
    const log = await logOf("none");
    await log.append([text("half of it")]);
    store.cut = async function* (events) {
      for await (const event of events) {
        yield event;
        store.isEmpty = true;
        return;
      }
    };
    expect(await readHead(store, "t1", "none")).toBeUndefined();
  });

  it("fails instead of giving half a task, when its log is gone", async () => {
    const log = await logOf("none");
    await log.append([text("x".repeat(5 * MEGABYTE))]);
    store.isEmpty = true;
    await expect(log.whole()).rejects.toThrow('task "t1" was deleted');
  });

  /** Begins a task with the prompt `m0`. */
  async function logOf(need: HistoryNeed): Promise<EventLog> {
    const log = new EventLog({
      store,
      task: { ...emptyTask(), id: "t1", contextId: "c1" },
      need,
      conversation: new Conversation(),
      now: () => new Date(0),
    });
    const value = create(TaskCreatedSchema, { message: prompt("first") });
    await log.append([
      { state: TaskState.WORKING, payload: { case: "created", value } },
    ]);
    return log;
  }
});

class CountingStore extends MemoryTaskStore {
  reads = 0;
  isEmpty = false;
  /** Changes what a reader gets. */
  cut: (
    events: AsyncIterable<TaskEvent>,
    after: bigint,
  ) => AsyncIterable<TaskEvent> = (events) => events;

  override readEvents(
    ...of: Parameters<MemoryTaskStore["readEvents"]>
  ): ReturnType<MemoryTaskStore["readEvents"]> {
    this.reads++;
    return this.isEmpty
      ? super.readEvents("", 0n)
      : this.cut(super.readEvents(...of), of[1]);
  }
}

function prompt(messageId: string, value = messageId): Message {
  const content = { case: "text", value } as const;
  return create(MessageSchema, {
    messageId,
    role: Role.USER,
    parts: [{ content }],
  });
}

function message(messageId: string, value = messageId): LogEntry {
  return { payload: { case: "message", value: prompt(messageId, value) } };
}

function text(value: string): LogEntry {
  const content = create(TextContentSchema, { text: value });
  return { payload: { case: "text", value: content } };
}

function summary(keptMessages: number): LogEntry {
  const value = create(SummarySchema, { text: "so far", keptMessages });
  return { payload: { case: "summary", value } };
}

function textsIn({ history }: Task): string {
  const contents = history.flatMap(({ parts }) =>
    parts.map(({ content }) => content),
  );
  return contents
    .map((content) => (content.case === "text" ? content.value : ""))
    .join("");
}
