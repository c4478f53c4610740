import { setImmediate as nextTurn } from "node:timers/promises";
import { awaitedToolCalls, type TaskEvent, TaskState } from "@devtool/schema";
import { Code, hasCode } from "../errors.ts";
import type { StoreLoad } from "../server-load.ts";
import { positionOf } from "../store/list-position.ts";
import type { GoneTask } from "../store/task-changes.ts";
import type {
  ListedTask,
  ServerStore,
  StoredTask,
  TaskStore,
} from "../store/task-store.ts";
import { beginHead } from "../task/read-task.ts";
import type { FeedSink, TaskFeed } from "../task/task-feed.ts";

/** The states that are no end of a task. */
const UNFINISHED: readonly TaskState[] = [
  TaskState.SUBMITTED,
  TaskState.WORKING,
  TaskState.INPUT_REQUIRED,
  TaskState.AUTH_REQUIRED,
];

/** The number of tasks to list at a time. */
const PAGE = 100;

/** Calls that wait for a user, and since when, in milliseconds since 1970. */
interface Asking {
  readonly calls: number;
  readonly sinceMs: number;
}

/** A task that has not ended, or one that has while the store is read. */
interface Known
  extends Pick<StoredTask, "taskId" | "state" | "sequence" | "timeMs"> {
  /** Undefined until it is read. */
  asking: Asking | undefined;
}

/**
 * Knows what a store has, whether its tasks are open or not.
 *
 * It reads the tasks that have not ended once, by the store's index of states,
 * when it is first asked, and hears of their changes from then on. What other
 * servers change it does not hear: of a shared store it reads each time which
 * tasks have changed, without their events, and what those ask.
 */
export class StoreLoadReader implements FeedSink {
  readonly #store: ServerStore;
  readonly #feed: TaskFeed;
  /** The tasks that have not ended, by their ids. */
  #known = new Map<string, Known>();
  #reading: Promise<void> | undefined;
  #isReading = false;
  /** Whether all has been read. */
  #isKnown = false;
  #passing: Disposable | undefined;

  constructor(store: ServerStore, feed: TaskFeed) {
    this.#store = store;
    this.#feed = feed;
  }

  /** Returns what the store has. Rejects when it cannot be read. */
  async read(nowMs: number): Promise<StoreLoad> {
    this.#reading ??= this.#isKnown ? this.#readChanged() : this.#readAll();
    try {
      await this.#reading;
      const unfinished = new Map(UNFINISHED.map((state) => [state, 0]));
      let count = 0;
      let oldestMs = 0;
      for (const known of this.#known.values()) {
        const { state } = known;
        unfinished.set(state, (unfinished.get(state) ?? 0) + 1);
        if (state !== TaskState.INPUT_REQUIRED) continue;
        known.asking ??= await readAsking(this.#store, known);
        const { calls, sinceMs } = known.asking;
        count += calls;
        if (calls > 0) oldestMs = Math.max(oldestMs, nowMs - sinceMs);
      }
      const bytes = await this.#store.readBytes?.();
      return { unfinished, questions: { count, oldestMs }, bytes };
    } catch (reason) {
      this.#reading = undefined;
      this.#isKnown = false;
      throw reason;
    } finally {
      if (this.#store.shared) this.#reading = undefined;
    }
  }

  put({ last }: Pick<ListedTask, "last">): void {
    const { taskId, sequence, state } = last;
    if ((this.#known.get(taskId)?.sequence ?? -1n) >= sequence) return;
    const { timeMs } = positionOf(last);
    this.#set({ taskId, state, sequence, timeMs, asking: askedIn(last) });
  }

  putDeleted({ taskId }: GoneTask): void {
    this.#set({ ...ENDED, taskId });
  }

  /** While all is read, what has ended stays known: a page may still have it. */
  #set(known: Known): void {
    const { taskId, state } = known;
    this.#known.set(taskId, known);
    if (!this.#isReading && !isUnfinished(state)) this.#known.delete(taskId);
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    this.#known = new Map();
    if (!this.#store.shared) this.#passing ??= this.#feed.pass(undefined, this);
    try {
      for (const state of UNFINISHED) {
        for await (const last of lastEvents(this.#store, state)) {
          this.put({ last });
        }
      }
    } finally {
      this.#isReading = false;
      for (const [taskId, { state }] of this.#known) {
        if (!isUnfinished(state)) this.#known.delete(taskId);
      }
    }
    this.#isKnown = true;
  }

  async #readChanged(): Promise<void> {
    const found = new Map<string, Known>();
    for await (const stored of this.#store.readSizes(UNFINISHED)) {
      if (!isUnfinished(stored.state)) continue;
      const { taskId, state, sequence, timeMs } = stored;
      const known = this.#known.get(taskId);
      found.set(
        taskId,
        known?.sequence === sequence
          ? known
          : { taskId, state, sequence, timeMs, asking: undefined },
      );
    }
    this.#known = found;
  }
}

/** A task that was deleted, after which nothing comes. */
const ENDED: Known = {
  taskId: "",
  state: TaskState.UNSPECIFIED,
  sequence: 2n ** 63n,
  timeMs: 0,
  asking: undefined,
};

function isUnfinished(state: TaskState): boolean {
  return UNFINISHED.some((each) => each === state);
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

/**
 * Reads what a task asks: nothing, if its log is damaged, which whoever opens
 * it is told.
 */
async function readAsking(store: TaskStore, known: Known): Promise<Asking> {
  const { taskId, sequence, timeMs } = known;
  try {
    for await (const last of store.readEvents(taskId, sequence - 1n)) {
      const asking = askedIn(last);
      if (asking) return asking;
    }
    return await readOlderAsking(store, known);
  } catch (reason) {
    if (hasCode(reason, Code.DataLoss)) return { calls: 0, sinceMs: timeMs };
    throw reason;
  }
}

/**
 * Reads what a task asks, after whose questions came something else. Those that
 * came before its stored head wait since its last change at least.
 */
async function readOlderAsking(
  store: TaskStore,
  { taskId, timeMs }: Known,
): Promise<Asking> {
  const head = await beginHead(store, taskId, "none");
  let sinceMs = timeMs;
  for await (const event of store.readEvents(taskId, head.sequence)) {
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
    ? {
        calls: payload.value.openCalls.length,
        sinceMs: positionOf(event).timeMs,
      }
    : undefined;
}
