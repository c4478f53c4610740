import { setImmediate as nextTurn } from "node:timers/promises";
import { isTerminal, TaskState } from "@devtool/schema";
import { Code, hasCode } from "../errors.ts";
import type { ServerSettings } from "../server-options.ts";
import { comparePositions, type ListPosition } from "../store/list-position.ts";
import type { ServerStore, StoredTask } from "../store/task-store.ts";
import type { OpenTasks } from "./open-tasks.ts";

/** The time in milliseconds before the first look, and between looks. */
const FIRST_LOOK_MS = 60_000;
const LOOK_MS = 300_000;

/**
 * How far the clock may go ahead of the time that has passed between two looks,
 * in milliseconds. Beyond it, the clock may be wrong, or the machine has slept.
 */
const MAX_JUMP_MS = 86_400_000;

/** The time in which what sets the clock of a machine sets a wrong one right. */
const MISTRUST_MS = 3_600_000;

/** The maximum number of tasks to hold at a time. */
const PAGE = 4096;

/** The number of tasks to delete at a time, which share a commit in SQLite. */
const AT_ONCE = 32;

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
  readonly onNotice: (text: string) => void;
}

/**
 * Deletes tasks that have ended once they are too old, too many or too large, a
 * few at a time, so that turns go on between them.
 */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #limits: NonNullable<ServerSettings["retention"]>;
  /** The states of the tasks that may be deleted, and that count. */
  readonly #states: readonly TaskState[];
  /** How far the clock was ahead of the monotonic one at the last look. */
  #aheadMs: number;
  /** Until when the clock says no ages, on the monotonic clock. */
  #mistrustedUntilMs = 0;

  constructor(
    limits: NonNullable<ServerSettings["retention"]>,
    options: RetentionOptions,
  ) {
    this.#limits = limits;
    this.#options = options;
    this.#states = (limits.states ?? ENDED).filter(isTerminal);
    this.#aheadMs = options.clock.now() - performance.now();
  }

  /** Deletes a minute after the start and then every five minutes. */
  async watch(signal: AbortSignal): Promise<void> {
    const { clock, onError } = this.#options;
    let waitMs = FIRST_LOOK_MS;
    while (!signal.aborted) {
      await clock.sleep(waitMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      // Another try comes with the next look.
      await this.run(signal).catch(
        (reason: unknown) => signal.aborted || onError(reason),
      );
      waitMs = LOOK_MS;
    }
  }

  /**
   * Deletes what is to be deleted now, the oldest first, unless another server
   * does, and returns the number of tasks. Rejects with the first error, after
   * all other tasks.
   */
  async run(signal: AbortSignal): Promise<number> {
    const { shared } = this.#options.store;
    const maxAgeMs = this.#trustsClock() ? this.#limits.maxAgeMs : undefined;
    await using turn = await shared?.sessions.begin(LOCK);
    if (shared && !turn) return 0;
    const failed: unknown[] = [];
    let count = 0;
    for (let after: ListPosition | undefined; ; ) {
      const { oldest, ...kept } = await this.#oldestAfter(after, signal);
      const due = oldest.flatMap((task) => {
        const rule = this.#ruleFor(task, maxAgeMs, kept);
        kept.tasks--;
        kept.bytes -= task.bytes;
        // All later ones are younger, with fewer and smaller ones after them.
        return rule === undefined ? [] : [{ task, rule }];
      });
      const atOnce = shared ? 1 : AT_ONCE;
      for (let at = 0; at < due.length; at += atOnce) {
        signal.throwIfAborted();
        const deleted = await Promise.all(
          due
            .slice(at, at + atOnce)
            .map(({ task, rule }) => this.#delete(task, rule, failed)),
        );
        count += deleted.filter(Boolean).length;
        await nextTurn();
      }
      after = oldest[PAGE - 1];
      if (!after || due.length < oldest.length) break;
    }
    for (const reason of failed) throw reason;
    return count;
  }

  /**
   * Whether the clock has gone as fast as time since the last looks: a task that
   * was deleted by a wrong clock would not come back.
   */
  #trustsClock(): boolean {
    const nowMs = performance.now();
    const aheadMs = this.#options.clock.now() - nowMs;
    const jumpMs = aheadMs - this.#aheadMs;
    this.#aheadMs = aheadMs;
    if (jumpMs > MAX_JUMP_MS && this.#limits.maxAgeMs !== undefined) {
      this.#mistrustedUntilMs = nowMs + MISTRUST_MS;
      this.#options.onNotice(
        `the clock went ${Math.round(jumpMs / 86_400_000)} days ahead: no task is deleted for its age in the next hour`,
      );
    }
    return nowMs >= this.#mistrustedUntilMs;
  }

  /**
   * Returns the tasks that may be deleted and changed longest ago after a
   * position, `PAGE` of them at most, the oldest first, and the number and size
   * of all after it.
   */
  async #oldestAfter(
    after: ListPosition | undefined,
    signal: AbortSignal,
  ): Promise<{ oldest: StoredTask[]; tasks: number; bytes: number }> {
    let oldest: StoredTask[] = [];
    let tasks = 0;
    let bytes = 0;
    const cut = (): void => {
      oldest = oldest.sort(byAge).slice(0, PAGE);
    };
    for await (const task of this.#options.store.readSizes(this.#states)) {
      signal.throwIfAborted();
      if (!this.#states.includes(task.state)) continue;
      if (after && byAge(task, after) <= 0) continue;
      tasks++;
      bytes += task.bytes;
      if (oldest.push(task) >= 2 * PAGE) cut();
    }
    cut();
    return { oldest, tasks, bytes };
  }

  /**
   * Returns the setting by which a task is to be deleted; undefined for none.
   *
   * @param kept the number and size of the tasks that changed no earlier
   */
  #ruleFor(
    { timeMs }: StoredTask,
    maxAgeMs: number | undefined,
    kept: { readonly tasks: number; readonly bytes: number },
  ): string | undefined {
    const { maxTasks, maxBytes } = this.#limits;
    const ageMs = this.#options.clock.now() - timeMs;
    if (maxAgeMs !== undefined && ageMs > maxAgeMs) {
      return "retention.max_age_days";
    }
    if (maxTasks !== undefined && kept.tasks > maxTasks) {
      return "retention.max_tasks";
    }
    return maxBytes !== undefined && kept.bytes > maxBytes
      ? "retention.max_size_mb"
      : undefined;
  }

  /** Deletes a task, and returns whether it did. */
  async #delete(
    { taskId: id, ...task }: StoredTask,
    rule: string,
    failed: unknown[],
  ): Promise<boolean> {
    try {
      await this.#options.registry.delete(
        { id, ...task },
        { principal: "", rule },
      );
      return true;
    } catch (reason) {
      // It has changed, so it is not old.
      if (!hasCode(reason, Code.Aborted)) failed.push(reason);
      return false;
    }
  }
}

/** Compares tasks by the time of their last change, the oldest first. */
function byAge(one: ListPosition, other: ListPosition): number {
  return comparePositions(other, one);
}
