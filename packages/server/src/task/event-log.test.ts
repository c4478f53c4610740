import { create } from "@bufbuild/protobuf";
import { emptyTask, TaskState, TextContentSchema } from "@devtool/schema";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { Conversation } from "./conversation.ts";
import { EventLog, type LogEntry } from "./event-log.ts";

const READERS = 1000;

describe("a log with a thousand waiting readers", () => {
  it("wakes them in batches, so that other work runs between, and each of them once", async () => {
    const log = emptyLog();
    const stop = new AbortController();
    const woken: number[] = [0];
    const reads = Array.from({ length: READERS }, () =>
      firstOf(log, stop.signal, woken),
    );
    const everyTurn = (): void => {
      woken.push(0);
      next = setImmediate(everyTurn);
    };
    let next = setImmediate(everyTurn);
    await log.append([words("first")]);
    expect(await Promise.all(reads)).toEqual(
      Array.from({ length: READERS }, () => 1n),
    );
    clearImmediate(next);
    expect(woken.reduce((sum, count) => sum + count, 0)).toBe(READERS);
    expect(Math.max(...woken)).toBeLessThanOrEqual(64);
  });

  it("gives every reader every event, and releases readers whose signal aborts", async () => {
    const log = emptyLog();
    const gone = new AbortController();
    const stays = new AbortController();
    const left = Array.from({ length: READERS }, () =>
      allOf(log, 3, gone.signal),
    );
    const reads = Array.from({ length: READERS }, () =>
      allOf(log, 3, stays.signal),
    );
    for (const text of ["one", "two"]) await log.append([words(text)]);
    gone.abort(new Error("gone"));
    await log.append([words("three")]);
    expect(
      new Set((await Promise.allSettled(left)).map(({ status }) => status)),
    ).toEqual(new Set(["rejected"]));
    for (const sequences of await Promise.all(reads)) {
      expect(sequences).toEqual([1n, 2n, 3n]);
    }
    expect(log.idle).toBe(true);
  });
});

describe("a reader whose signal aborts while it has an event", () => {
  it("ends when it asks for the next one, though none comes", async () => {
    const log = emptyLog();
    await log.append([words("one")]);
    const gone = new AbortController();
    const events = log.read(0n, gone.signal)[Symbol.asyncIterator]();
    await events.next();
    gone.abort(new Error("gone"));
    await expect(events.next()).rejects.toThrow("gone");
    expect(log.idle).toBe(true);
  });
});

describe("a reader of a log whose task is deleted", () => {
  it("ends with an error where the store has no more of it, and lets others run", async () => {
    const task = { ...emptyTask(), id: "t1", contextId: "c1", sequence: 100n };
    const log = new EventLog({
      store: new MemoryTaskStore(),
      task,
      conversation: new Conversation(),
      now: () => new Date(0),
    });
    const { signal } = new AbortController();
    const events = log.read(0n, signal)[Symbol.asyncIterator]();
    await expect(events.next()).rejects.toThrow('task "t1" was deleted');
  });
});

describe("the work of a log's task", () => {
  it("ends where its state says that it waits, and goes on with it", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const log = emptyLog();
    const { COMPLETED, INPUT_REQUIRED, SUBMITTED, WORKING } = TaskState;
    const states = [SUBMITTED, WORKING, INPUT_REQUIRED, WORKING, COMPLETED];
    const worked: number[] = [];
    for (const state of states) {
      await log.append([{ ...words("first"), state }, words("second")]);
      vi.advanceTimersByTime(100);
      worked.push(log.work.ms);
    }
    expect(worked).toEqual([100, 200, 200, 300, 300]);
  });
});

function emptyLog(): EventLog {
  const task = { ...emptyTask(), id: "t1", contextId: "c1" };
  return new EventLog({
    store: new MemoryTaskStore(),
    task,
    conversation: new Conversation(),
    now: () => new Date(0),
  });
}

function words(text: string): LogEntry {
  return {
    payload: { case: "text", value: create(TextContentSchema, { text }) },
  };
}

async function firstOf(
  log: EventLog,
  signal: AbortSignal,
  woken: number[],
): Promise<bigint> {
  for await (const [first] of log.read(0n, signal)) {
    woken.push((woken.pop() ?? 0) + 1);
    return first?.sequence ?? 0n;
  }
  throw new Error("the log ended");
}

async function allOf(
  log: EventLog,
  count: number,
  signal: AbortSignal,
): Promise<bigint[]> {
  const sequences: bigint[] = [];
  for await (const events of log.read(0n, signal)) {
    sequences.push(...events.map(({ sequence }) => sequence));
    if (sequences.length >= count) return sequences;
  }
  return sequences;
}
