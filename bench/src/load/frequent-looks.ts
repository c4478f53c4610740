import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";

/** The time in milliseconds between two looks after `lookOften`. */
export const LOOK_MS = 30_000;

/** The time between two looks of a server. */
const USUAL_MS = 300_000;

/**
 * Has the servers of this process look ten times as often for what to delete, so
 * that a run has many deletions.
 */
export function lookOften(): void {
  const { setTimeout: delay } = timers;
  const setTimeout = (ms = 0, ...rest: unknown[]): Promise<unknown> => {
    const [value, options] = rest;
    const waitMs = ms === USUAL_MS ? LOOK_MS : ms;
    return delay(waitMs, value, Object(options));
  };
  Object.assign(timers, { setTimeout });
  syncBuiltinESMExports();
}
