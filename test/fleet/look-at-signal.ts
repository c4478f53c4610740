/**
 * Is loaded into a server (`--import`): it looks at SIGUSR2 for what its
 * retention deletes, and not a minute after its start.
 */
import { once } from "node:events";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";

/** The time before the first look of a server. */
const FIRST_LOOK_MS = 60_000;

const { setTimeout: delay } = timers;
const asked = once(process, "SIGUSR2");

/** As that of Node, but ends at the signal where it would wait for the look. */
function setTimeout(ms = 0, ...rest: readonly unknown[]): Promise<unknown> {
  const [value, options] = rest;
  const waiting = delay(ms, value, Object(options));
  return ms === FIRST_LOOK_MS ? Promise.race([waiting, asked]) : waiting;
}

Object.assign(timers, { setTimeout });
syncBuiltinESMExports();
