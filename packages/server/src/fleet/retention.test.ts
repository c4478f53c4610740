import { join } from "node:path";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { type TaskEvent, TaskState } from "@devtool/schema";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ServerSettings } from "../server-options.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { SqliteTaskStore } from "../store/sqlite-task-store.ts";
import type { ServerStore } from "../store/task-store.ts";
import { verifyAudit } from "../store/verify-audit.ts";
import { created, eventsOf, text } from "../testing/task-events.ts";
import { OpenTasks } from "./open-tasks.ts";
import { Retention } from "./retention.ts";

const DAY_MS = 86_400_000;
const NOW_MS = 1000 * DAY_MS;
const { signal } = new AbortController();

/** Tasks by their ids: their state, and the days since their last change. */
const TASKS: readonly (readonly [
  id: string,
  state: TaskState,
  days: number,
])[] = [
  ["works", TaskState.WORKING, 400],
  ["asks", TaskState.INPUT_REQUIRED, 300],
  ["done", TaskState.COMPLETED, 91],
  ["failed", TaskState.FAILED, 92],
  ["recent", TaskState.COMPLETED, 89],
  ["new", TaskState.CANCELED, 1],
  ["busy", TaskState.WORKING, 0],
];

describe.each<[string, () => ServerStore | Promise<ServerStore>]>([
  ["memory", () => new MemoryTaskStore()],
  [
    "SQLite",
    () => SqliteTaskStore.open(join(temporaryDirectory(), "tasks.db")),
  ],
])("Retention of %s", (_name, openStore) => {
  it.each<[NonNullable<ServerSettings["retention"]>, string[]]>([
    [{ maxAgeMs: 90 * DAY_MS }, ["done", "failed"]],
    [{ maxAgeMs: 90 * DAY_MS, states: [TaskState.FAILED] }, ["failed"]],
    [{ maxAgeMs: 0 }, ["done", "failed", "recent", "new"]],
    [{ maxTasks: 2 }, ["done", "failed"]],
    [{ maxTasks: 1 }, ["done", "failed", "recent"]],
    // What works or waits, or is in another state than these, does not count.
    [{ maxTasks: 4 }, []],
    [{ maxTasks: 1, states: [TaskState.FAILED] }, []],
    [{ maxTasks: 1, states: [TaskState.COMPLETED] }, ["done"]],
    [{ maxTasks: 3, maxAgeMs: 365 * DAY_MS }, ["failed"]],
    [{ states: [TaskState.WORKING], maxAgeMs: 0 }, []],
    // Of 1000 bytes each: whole tasks, and no more than needed.
    [{ maxBytes: 4200 }, []],
    [{ maxBytes: 3200 }, ["failed"]],
    [{ maxBytes: 2500 }, ["failed", "done"]],
    [{ maxBytes: 0 }, ["failed", "done", "recent", "new"]],
    [{ maxBytes: 2100, states: [TaskState.FAILED] }, []],
    [{ maxBytes: 0, states: [TaskState.FAILED] }, ["failed"]],
    [{}, []],
  ])(
    "deletes what %j says, and nothing that works or waits",
    async (limits, gone) => {
      const { store, retention } = await ground(limits, openStore);
      expect(await retention.run(signal)).toBe(gone.length);
      const { tasks } = await store.list({ limit: 99 });
      const left = TASKS.map(([id]) => id).filter((id) => !gone.includes(id));
      expect(tasks.map(({ last }) => last.taskId).toSorted()).toEqual(
        left.toSorted(),
      );
      const { fault, deleted } = await verifyAudit(store.readAudit(0n));
      expect(fault).toBeUndefined();
      expect(deleted.map(({ taskId }) => taskId).toSorted()).toEqual(
        gone.toSorted(),
      );
      for (const { by } of deleted) {
        expect(by).toMatch(/^retention\.max_(age_days|tasks|size_mb)$/);
      }
      expect(await retention.run(signal)).toBe(0);
    },
  );

  it("deletes no task for its age in the hour after the clock went far ahead", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const limits = { maxAgeMs: 90 * DAY_MS, maxTasks: 3 };
    const { retention, move, notices } = await ground(limits, openStore);
    // A night in which the machine slept.
    move(0.5 * DAY_MS, 0);
    expect(await retention.run(signal)).toBe(2);
    move(400 * DAY_MS, 300_000);
    expect(await retention.run(signal)).toBe(0);
    expect(notices).toEqual([
      "the clock went 400 days ahead: no task is deleted for its age in the next hour",
    ]);
    move(0, 3_599_999);
    expect(await retention.run(signal)).toBe(0);
    // The machine's time service has set the clock back.
    move(-400 * DAY_MS, 1);
    expect(await retention.run(signal)).toBe(0);
    move(0, 400 * DAY_MS);
    expect(await retention.run(signal)).toBe(2);
    expect(notices).toHaveLength(1);
  });

  it("says by which setting it deleted", async () => {
    const limits = { maxAgeMs: 92 * DAY_MS - 1, maxTasks: 3, maxBytes: 2100 };
    const { store, retention } = await ground(limits, openStore);
    await retention.run(signal);
    const { deleted } = await verifyAudit(store.readAudit(0n));
    expect(deleted.map(({ taskId, by }) => [taskId, by])).toEqual([
      ["failed", "retention.max_age_days"],
      ["done", "retention.max_size_mb"],
    ]);
  });

  it.each([
    ["alone", undefined, 2],
    ["shared with other servers", { sessions: { begin } }, 1],
  ])(
    "deletes from a store that is %s a few at a time, or one",
    async (_who, shared, most) => {
      const limits = { maxAgeMs: 90 * DAY_MS };
      const { store, retention } = await ground(limits, openStore);
      Object.defineProperty(store, "shared", { value: shared });
      const deletion = store.delete.bind(store);
      let [running, highest] = [0, 0];
      store.delete = async (each) => {
        highest = Math.max(highest, ++running);
        await deletion(each);
        running--;
      };
      expect(await retention.run(signal)).toBe(2);
      expect(highest).toBe(most);
    },
  );

  it("leaves a task that changed after it was listed, and all that its agent keeps", async () => {
    const forgotten: string[] = [];
    const { store, retention } = await ground(
      { maxAgeMs: 90 * DAY_MS },
      openStore,
      async (taskId) => void forgotten.push(taskId),
    );
    const listed = store.readSizes.bind(store);
    store.readSizes = async function* () {
      yield* await Array.fromAsync(listed());
      await store.append({ events: [text("failed", 3n, "go on")] });
    };
    expect(await retention.run(signal)).toBe(1);
    expect(forgotten).toEqual(["done"]);
    expect(await eventsOf(store, "failed")).toHaveLength(3);
  });

  it("goes through more tasks than it holds at a time, and one that cannot be deleted costs itself", async () => {
    const { store, retention } = await ground(
      { maxAgeMs: 90 * DAY_MS },
      openStore,
    );
    await Promise.all(
      Array.from({ length: 4500 }, (_, at) =>
        add(store, `old-${at}`, TaskState.COMPLETED, 100 + at),
      ),
    );
    const deletion = store.delete.bind(store);
    store.delete = (each) =>
      each.taskId === "old-7"
        ? Promise.reject(new Error("the disk is full"))
        : deletion(each);
    await expect(retention.run(signal)).rejects.toThrow("the disk is full");
    const { tasks } = await store.list({ limit: 300, idPrefix: "old" });
    expect(tasks.map(({ last }) => last.taskId)).toEqual(["old-7"]);
    expect(await eventsOf(store, "recent")).toHaveLength(2);
  });
});

/** Begins the turn in which a server of several deletes. */
function begin() {
  return Promise.resolve({ [Symbol.asyncDispose]: () => Promise.resolve() });
}

async function ground(
  limits: NonNullable<ServerSettings["retention"]>,
  openStore: () => ServerStore | Promise<ServerStore>,
  forget?: (taskId: string) => Promise<void>,
) {
  const store = await openStore();
  for (const task of TASKS) await add(store, ...task);
  const registry = new OpenTasks({
    store,
    createExecutor: () => {
      throw new Error("no task is opened");
    },
    now: () => new Date(NOW_MS),
    forget,
  });
  let nowMs = NOW_MS;
  const clock = { now: () => nowMs, sleep: () => Promise.resolve() };
  const onError = (): void => undefined;
  const notices: string[] = [];
  const onNotice = (text: string): void => void notices.push(text);
  const options = { store, registry, clock, onError, onNotice };
  /** Lets time pass, and the clock go further than it by a number. */
  const move = (jumpMs: number, passedMs: number): void => {
    nowMs += jumpMs + passedMs;
    vi.advanceTimersByTime(passedMs);
  };
  return { store, notices, move, retention: new Retention(limits, options) };
}

async function add(
  store: ServerStore,
  id: string,
  state: TaskState,
  days: number,
): Promise<void> {
  const time = timestampFromMs(NOW_MS - days * DAY_MS);
  const filler = text(id, 2n, "x".repeat(900));
  const events: TaskEvent[] = [created(id), { ...filler, state }];
  await store.append({ events: events.map((event) => ({ ...event, time })) });
}
