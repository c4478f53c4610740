import { Code, hasCode } from "../errors.ts";
import {
  CANCELED_OPERATION,
  type Operations,
  SUCCEEDED,
} from "../operations.ts";
import type { SharedTasks } from "../store/task-store.ts";
import type { OpenTasks } from "./open-tasks.ts";

/**
 * The time in milliseconds after which tasks of an unreachable workspace, and
 * those with a damaged log, are tried again. Other tasks that cannot be opened
 * are tried after ever longer times, up to this one.
 */
const RETRY_MS = 60_000;

/**
 * The time in milliseconds between two searches for tasks that other servers
 * left behind.
 */
const LOOK_MS = 1000;

/**
 * The number of tasks that are opened at the same time: half of the
 * connections, so that leases are renewed meanwhile.
 */
const AT_ONCE = 4;

/** When a task is tried again. */
interface Retry {
  /** The time since the last try, in milliseconds. */
  readonly waitMs: number;
  /** On the clock of the takeover. */
  readonly atMs: number;
}

interface TakeoverOptions {
  readonly registry: OpenTasks;
  readonly shared: Pick<SharedTasks, "leases" | "changes">;
  readonly clock: {
    /** Returns the time in milliseconds since 1970. */
    now(): number;
    /**
     * Resolves after a time in milliseconds. Rejects when the signal aborts.
     */
    sleep(ms: number, signal: AbortSignal): Promise<void>;
  };
  readonly onError: (reason: unknown) => void;
  /** Receives notices for the operator, as plain text. */
  readonly onNotice: (text: string) => void;
  /** What the server's observer hears. Default: there is none. */
  readonly operations?: Operations | undefined;
}

/** Takes over the tasks that other servers left behind. */
export class Takeover {
  readonly #options: TakeoverOptions;
  /** The workspaces that this server could not reach, and when. */
  readonly #unreachable = new Map<string, number>();
  /**
   * The tasks that could not be opened. This server may still have their
   * leases.
   */
  readonly #failed = new Map<string, Retry>();

  constructor(options: TakeoverOptions) {
    this.#options = options;
  }

  /**
   * Takes over the tasks of servers that died or end, each second and when one
   * says that it ends, until the signal aborts.
   */
  async watch(signal: AbortSignal): Promise<void> {
    const { shared, clock, onError, onNotice } = this.#options;
    let early = new AbortController();
    using _watch = shared.changes.watchGivenUp(() => early.abort());
    let isAway = false;
    while (!signal.aborted) {
      // A hint that arrives during a search begins the next one.
      early = new AbortController();
      try {
        await this.run(signal);
        if (isAway) onNotice("the store can be reached again");
        isAway = false;
      } catch (reason) {
        // An outage is said once, and that it is over.
        const isOutage = hasCode(reason, Code.Unavailable);
        if (!signal.aborted && !(isOutage && isAway)) onError(reason);
        isAway ||= isOutage;
      }
      await clock
        .sleep(LOOK_MS, AbortSignal.any([signal, early.signal]))
        .catch(() => undefined);
    }
  }

  /**
   * Opens the tasks that other servers left behind, so that each continues here
   * or at another server that was faster. Rejects with the errors of those that
   * could not be opened, after all others were.
   *
   * @param signal no further task is opened when it aborts
   */
  async run(signal: AbortSignal): Promise<void> {
    const { registry, shared, clock } = this.#options;
    const failures: unknown[] = [];
    for (const [workspace, since] of this.#unreachable) {
      if (clock.now() - since > RETRY_MS) this.#unreachable.delete(workspace);
    }
    // A look finds a limited number of tasks: those that cannot be opened must
    // not hide the others.
    const orphaned = await shared.leases.orphaned(
      [...this.#unreachable.keys()],
      [...this.#failed.keys()],
    );
    const found = new Set([...orphaned, ...this.#failed.keys()]);
    const waiting = [...found].filter(
      (taskId) => (this.#failed.get(taskId)?.atMs ?? 0) <= clock.now(),
    );
    const openEach = async (): Promise<void> => {
      for (
        let taskId = waiting.shift();
        taskId !== undefined && !signal.aborted;
        taskId = waiting.shift()
      ) {
        const operation = this.#options.operations?.begin({
          kind: "takeover",
          taskId,
        });
        try {
          using own = await registry.own(taskId);
          this.#failed.delete(taskId);
          // Another server was faster, or this one cannot work on the task.
          operation?.finish(own ? SUCCEEDED : CANCELED_OPERATION);
          if (own) continue;
          const { workspacePath, problem } = await registry.reach.of(taskId);
          // A workspace that this server cannot reach is reported once for a
          // time.
          if (!problem || this.#unreachable.has(workspacePath)) continue;
          this.#unreachable.set(workspacePath, clock.now());
          failures.push(problem);
        } catch (reason) {
          const before = this.#failed.get(taskId)?.waitMs ?? LOOK_MS / 2;
          const waitMs = hasCode(reason, Code.DataLoss)
            ? RETRY_MS
            : Math.min(RETRY_MS, 2 * before);
          operation?.finish({ outcome: "failed", error: reason });
          this.#failed.set(taskId, { waitMs, atMs: clock.now() + waitMs });
          failures.push(reason);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, openEach));
    if (failures.length > 0) {
      throw new AggregateError(
        failures,
        "tasks of another server cannot be opened",
      );
    }
  }
}
