import { channel, hasSubscribers } from "node:diagnostics_channel";

/**
 * The name of a step and the moment at it: `devtool:approvals.write.before`.
 */
export type FailpointName = `devtool:${string}.${"before" | "after"}`;

/**
 * Marks the moment before or after something is written.
 *
 * Publishes on the diagnostics channel of that name, to which tests and tracers
 * may subscribe. Does nothing when there is no subscriber.
 */
export function failpoint(name: FailpointName): void {
  if (hasSubscribers(name)) channel(name).publish({});
}
