import { channel, hasSubscribers } from "node:diagnostics_channel";

/** The name of a failpoint, such as `devtool:command.spawn.before`. */
export type FailpointName = `devtool:${string}.${"before" | "after"}`;

/**
 * Marks the moment before or after something is written or started.
 *
 * Publishes on the diagnostics channel of that name, to which tests and tracers
 * may subscribe. Does nothing without subscribers.
 */
export function failpoint(name: FailpointName): void {
  if (hasSubscribers(name)) channel(name).publish({});
}
