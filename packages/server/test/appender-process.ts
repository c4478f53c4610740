import { fileURLToPath } from "node:url";
import { COMPILE_CACHE } from "../../../test/compile-cache-variable.ts";

/**
 * The faults that `appender.ts` can be told to have, so that a test can show
 * that it detects them.
 */
export type Sabotage = "none" | "sync-off" | "early-ack";

/** Returns the arguments for Node that run the appender from its source. */
export function appenderArguments(
  path: string,
  mode: "bursts" | "singles",
): string[] {
  const program = fileURLToPath(new URL("./appender.ts", import.meta.url));
  return [
    "--no-warnings",
    "--experimental-transform-types",
    "--conditions=@devtool/source",
    program,
    path,
    mode,
  ];
}

/** Returns the environment of the appender. */
export function appenderEnvironment(
  sabotage: Sabotage,
): Record<string, string> {
  return {
    ...COMPILE_CACHE,
    PATH: process.env.PATH ?? "",
    DEVTOOL_TEST_SABOTAGE: sabotage,
  };
}
