import { setImmediate as nextTurn } from "node:timers/promises";
import { isTerminal, type TaskEvent, TaskState } from "@devtool/schema";
import { Code, hasCode } from "../errors.ts";
import type { ServerSettings } from "../server-options.ts";
import {
  encodeCursor,
  type ListPosition,
  positionOf,
} from "../store/list-position.ts";
import type { ServerStore } from "../store/task-store.ts";
import type { OpenTasks } from "./open-tasks.ts";

/** The time in milliseconds before the first look, and between looks. */
const FIRST_LOOK_MS = 60_000;
const LOOK_MS = 3_600_000;

/** The number of tasks to list at a time. */
const PAGE = 64;

/**
 * Stands for a conversation that no client can have: the server of several that
 * has a turn in it deletes.
 */
const LOCK = { principal: "", contextId: "retention" };

/** All states in which a task has ended. */
const ENDED: readonly TaskState[] = [
  TaskState.COMPLETED,
  TaskState.FAILED,
  TaskState.CANCELED,
  TaskState.REJECTED,
];

interface RetentionOptions {
  readonly store: ServerStore;
  readonly registry: OpenTasks;
  readonly clock: {
    /** Returns the time in milliseconds since 1970. */
    now(): number;
    /**
     * Resolves after a time in milliseconds. Rejects when the signal aborts.
     */
    sleep(ms: number, signal: AbortSignal): Promise<void>;
  };
  readonly onError: (reason: unknown) => void;
}

/**
 * Deletes tasks that have ended once they are too old or too many, one after
 * the other, so that turns go on between them.
 */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #limits: NonNullable<ServerSettings["retention"]>;

  constructor(
    limits: NonNullable<ServerSettings["retention"]>,
    options: RetentionOptions,
  ) {
    this.#limits = limits;
    this.#options = options;
  }

  /** Deletes a minute after the start and then each hour. */
  async watch(signal: AbortSignal): Promise<void> {
    const { clock, onError } = this.#options;
    let waitMs = FIRST_LOOK_MS;
    while (!signal.aborted) {
      await clock.sleep(waitMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      // Another try comes in an hour.
      await this.run(signal).catch(
        (reason: unknown) => signal.aborted || onError(reason),
      );
      waitMs = LOOK_MS;
    }
  }

  /**
   * Deletes what is to be deleted now, unless another server does, and returns
   * the number of tasks. Rejects with the first error, after all other tasks.
   */
  async run(signal: AbortSignal): Promise<number> {
    const { shared } = this.#options.store;
    await using turn = await shared?.sessions.begin(LOCK);
    if (shared && !turn) return 0;
    const { maxAgeMs, maxTasks, states = ENDED } = this.#limits;
    const limits: [setting: string, from: ListPosition | undefined][] = [
      ["retention.max_age_days", this.#oldest(maxAgeMs)],
      ["retention.max_tasks", await this.#beyond(maxTasks, signal)],
    ];
    const failed = new Map<string, unknown>();
    let count = 0;
    for (const [rule, from] of limits) {
      for (const state of from ? states.filter(isTerminal) : []) {
        count += await this.#deleteFrom(from, { state, rule, failed, signal });
      }
    }
    for (const reason of failed.values()) throw reason;
    return count;
  }

  /** The position in the list before the tasks that are too old. */
  #oldest(maxAgeMs: number | undefined): ListPosition | undefined {
    if (maxAgeMs === undefined) return undefined;
    return { timeMs: this.#options.clock.now() - maxAgeMs, taskId: "" };
  }

  /** The position in the list before the tasks that are too many. */
  async #beyond(
    maxTasks: number | undefined,
    signal: AbortSignal,
  ): Promise<ListPosition | undefined> {
    if (maxTasks === undefined) return undefined;
    let cursor: string | undefined;
    let last: TaskEvent | undefined;
    for (let left = maxTasks; left > 0; left -= PAGE) {
      signal.throwIfAborted();
      const limit = Math.min(left, PAGE);
      const page = await this.#options.store.list({ limit, cursor });
      last = page.tasks.at(-1)?.last;
      cursor = page.cursor;
      if (cursor === undefined) return undefined;
      await nextTurn();
    }
    return last && positionOf(last);
  }

  /** Deletes the tasks in a state after a position of the list. */
  async #deleteFrom(
    from: ListPosition | undefined,
    {
      state,
      rule,
      failed,
      signal,
    }: {
      readonly state: TaskState;
      readonly rule: string;
      readonly failed: Map<string, unknown>;
      readonly signal: AbortSignal;
    },
  ): Promise<number> {
    const { store } = this.#options;
    let cursor = from && encodeCursor(from);
    let count = 0;
    while (cursor !== undefined) {
      const page = await store.list({ state, limit: PAGE, cursor });
      for (const { last } of page.tasks) {
        signal.throwIfAborted();
        if (await this.#delete(last, rule, failed)) count++;
        await nextTurn();
      }
      cursor = page.cursor;
    }
    return count;
  }

  /** Deletes a task, and returns whether it did. */
  async #delete(
    { taskId: id, contextId, sequence, state }: TaskEvent,
    rule: string,
    failed: Map<string, unknown>,
  ): Promise<boolean> {
    const { store, registry } = this.#options;
    try {
      const principal = await principalOf(store, id);
      const task = { id, contextId, sequence, state, principal };
      await registry.delete(task, { principal: "", rule });
      return true;
    } catch (reason) {
      // It has changed, so it is not old.
      if (!hasCode(reason, Code.Aborted)) failed.set(id, reason);
      return false;
    }
  }
}

/** Reads whose task it is from its first event. */
async function principalOf(
  store: ServerStore,
  taskId: string,
): Promise<string> {
  for await (const { payload } of store.readEvents(taskId, 0n)) {
    return payload.case === "created" ? payload.value.principal : "";
  }
  return "";
}
