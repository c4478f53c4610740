import { channel, hasSubscribers } from "node:diagnostics_channel";

/** The name of a step and the moment at it: `devtool:store.append.before`. */
export type FailpointName = `devtool:${string}.${"before" | "after"}`;

/**
 * Marks the moment before or after the process persists, emits or spawns something. It publishes on the diagnostics
 * channel of its name, to which nobody subscribes in production; the crash test R3 ends the process there, and a tracer may
 * listen as well. What subscribers throw never reaches the caller.
 */
export function failpoint(name: FailpointName): void {
  if (hasSubscribers(name)) channel(name).publish({});
}
