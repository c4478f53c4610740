import { channel, hasSubscribers } from "node:diagnostics_channel";

/**
 * The name of a failpoint: `devtool:`, the step, and whether the point lies
 * before or after it.
 */
export type FailpointName = `devtool:${string}.${"before" | "after"}`;

/**
 * Marks the point before or after a step that persists, sends or starts
 * something.
 *
 * Publishes on the diagnostics channel of that name. Nothing subscribes in
 * production, which makes a call cost less than 100 ns. The crash tests (R3)
 * end the process at a failpoint, and a tracer may subscribe as well. Errors of
 * subscribers do not reach the caller.
 */
export function failpoint(name: FailpointName): void {
  if (hasSubscribers(name)) channel(name).publish({});
}
