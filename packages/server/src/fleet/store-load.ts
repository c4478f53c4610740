import { setImmediate as nextTurn } from "node:timers/promises";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  awaitedToolCalls,
  emptyTask,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import type { StoreLoad } from "../server-load.ts";
import type { ServerStore, TaskStore } from "../store/task-store.ts";
import { TaskHead } from "../task/task-head.ts";

/** The states that are no end of a task. */
const UNFINISHED = [
  TaskState.SUBMITTED,
  TaskState.WORKING,
  TaskState.INPUT_REQUIRED,
  TaskState.AUTH_REQUIRED,
] as const;

/** The number of tasks to list at a time. */
const PAGE = 100;

/** Calls that wait for a user, and since when, in milliseconds since 1970. */
interface Asking {
  readonly calls: number;
  readonly sinceMs: number;
}

/**
 * Returns what a store has, whether its tasks are open or not. It reads the
 * tasks that have not ended, by the store's index of states, and of those that
 * wait for their user mostly the last event alone.
 *
 * Rejects when the store cannot be read.
 */
export async function readStoreLoad(
  store: ServerStore,
  nowMs: number,
): Promise<StoreLoad> {
  const unfinished = new Map<TaskState, number>();
  let count = 0;
  let oldestMs = 0;
  for (const state of UNFINISHED) {
    let tasks = 0;
    for await (const last of lastEvents(store, state)) {
      tasks++;
      if (state !== TaskState.INPUT_REQUIRED) continue;
      const { calls, sinceMs } = await askingOf(store, last);
      count += calls;
      if (calls > 0) oldestMs = Math.max(oldestMs, nowMs - sinceMs);
    }
    unfinished.set(state, tasks);
  }
  const bytes = await store.readBytes?.();
  return { unfinished, questions: { count, oldestMs }, bytes };
}

/** Yields the last events of the tasks in a state. Turns go on between pages. */
async function* lastEvents(
  store: TaskStore,
  state: TaskState,
): AsyncIterable<TaskEvent> {
  let cursor: string | undefined;
  do {
    const page = await store.list({ state, limit: PAGE, cursor });
    yield* page.tasks.map(({ last }) => last);
    cursor = page.cursor;
    await nextTurn();
  } while (cursor !== undefined);
}

/** Returns what a task asks that waits for its user. */
async function askingOf(store: TaskStore, last: TaskEvent): Promise<Asking> {
  const known = askedIn(last);
  if (known) return known;
  // Something came after the questions, such as another title.
  const head = new TaskHead(emptyTask(), "none");
  let sinceMs = msOf(last);
  for await (const event of store.readEvents(last.taskId, 0n)) {
    head.add(event);
    sinceMs = askedIn(event)?.sinceMs ?? sinceMs;
  }
  return { calls: awaitedToolCalls(head.task).length, sinceMs };
}

/** Returns what an event asks with which a task began to wait for its user. */
function askedIn(event: TaskEvent): Asking | undefined {
  const { payload, state } = event;
  const asks =
    payload.case === "stateChange" && state === TaskState.INPUT_REQUIRED;
  return asks
    ? { calls: payload.value.openCalls.length, sinceMs: msOf(event) }
    : undefined;
}

function msOf({ time }: TaskEvent): number {
  return time ? timestampMs(time) : 0;
}
