import { setTimeout as delay } from "node:timers/promises";
import type { TaskEvent } from "@devtool/schema";
import { positionOf } from "../store/list-position.ts";
import type { TaskChanges } from "../store/task-changes.ts";
import type { ListedTask, TaskStore } from "../store/task-store.ts";
import { Bell } from "../stream/bell.ts";
import type { TaskWatch } from "../task/task-feed.ts";
import { RecentTasks } from "./recent-tasks.ts";

/**
 * The number of tasks to list at a time. More are listed when all of these have
 * changed.
 */
const PAGE = 20;

/**
 * The time in milliseconds between two lists. Agents that stream text change
 * their tasks more often.
 */
const PAUSE_MS = 250;

/** The number of tasks whose last changes are kept. */
const MAX_FOUND = 1000;

/** A change of a task that was found. */
interface Found {
  readonly sequence: bigint;
  readonly timeMs: number;
}

/**
 * Finds the changes of a principal's tasks, or of all tasks, in the store, since
 * other servers make some of them.
 *
 * A list is sorted by the time of the last change, so the tasks that have
 * changed come first, as far as the clocks of the servers agree.
 */
export class ListedChanges {
  readonly #store: TaskStore;
  /** Undefined for the tasks of all. */
  readonly #principal: string | undefined;
  /** The changes that were found of each task last. */
  readonly #found = new RecentTasks<Found>(MAX_FOUND);
  /**
   * The time of the oldest task that was listed at first, or of the last one
   * that is no longer in `#found`. A task that is not there has changed if it has
   * a later one, or the same: to find it twice does no harm.
   */
  #oldestMs = 0;

  private constructor(store: TaskStore, principal: string | undefined) {
    this.#store = store;
    this.#principal = principal;
  }

  /** Lists the tasks as they are now. What changes from now on is found. */
  static async begin(
    store: TaskStore,
    principal: string | undefined,
  ): Promise<ListedChanges> {
    const listed = new ListedChanges(store, principal);
    const { tasks, cursor } = await store.list({ principal, limit: PAGE });
    for (const { last } of tasks.toReversed()) listed.#note(last);
    const oldest = tasks.at(-1);
    if (cursor !== undefined && oldest) {
      listed.#oldestMs = positionOf(oldest.last).timeMs;
    }
    return listed;
  }

  /**
   * Puts tasks that changed into a watch, soon after each change, until the
   * signal aborts.
   */
  async follow(
    changes: Pick<TaskChanges, "watchAll">,
    watch: TaskWatch,
    signal: AbortSignal,
  ): Promise<void> {
    const bell = new Bell(signal);
    using _wake = changes.watchAll(() => bell.ring());
    while (!signal.aborted) {
      bell.reset();
      // After a failure, the next call of `watchAll` comes in a second.
      await this.#find(watch).catch(() => undefined);
      await delay(PAUSE_MS, undefined, { signal }).catch(() => undefined);
      await bell.rung;
    }
  }

  async #find(watch: TaskWatch): Promise<void> {
    const changes: ListedTask[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#store.list({
        principal: this.#principal,
        limit: PAGE,
        cursor,
      });
      const changed = page.tasks.filter(({ last }) => {
        const found = this.#found.get(last.taskId);
        return found === undefined
          ? positionOf(last).timeMs >= this.#oldestMs
          : last.sequence > found.sequence;
      });
      for (const task of changed) watch.put(task);
      changes.push(...changed);
      cursor = changed.length === PAGE ? page.cursor : undefined;
    } while (cursor !== undefined);
    for (const { last } of changes.toReversed()) this.#note(last);
  }

  #note(event: TaskEvent): void {
    const { taskId, sequence } = event;
    const { timeMs } = positionOf(event);
    const forgotten = this.#found.note(taskId, { sequence, timeMs });
    if (!forgotten) return;
    this.#oldestMs = Math.max(this.#oldestMs, forgotten.timeMs);
  }
}
