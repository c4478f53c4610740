import { TaskState } from "@devtool/schema";

/** Whether time in a state counts as work. A task that waits does not work. */
export function isWork(state: TaskState): boolean {
  return state === TaskState.WORKING || state === TaskState.SUBMITTED;
}

/**
 * Measures how long an open task works. It uses the monotonic clock: that of the
 * machine may be set meanwhile.
 */
export class WorkTime {
  #beforeMs = 0;
  #sinceMs: number | undefined;

  /** The time in milliseconds in which the task has worked since it is open. */
  get ms(): number {
    const sinceMs = this.#sinceMs;
    if (sinceMs === undefined) return this.#beforeMs;
    return this.#beforeMs + performance.now() - sinceMs;
  }

  /** Notes the state in which the task is from now on. */
  note(state: TaskState): void {
    this.#beforeMs = this.ms;
    this.#sinceMs = isWork(state) ? performance.now() : undefined;
  }
}
