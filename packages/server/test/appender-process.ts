import { fileURLToPath } from "node:url";

/** What `appender.ts` understands to do wrong, so that a test sees its own check turn red. */
export type Sabotage = "none" | "sync-off" | "early-ack";

/** The arguments for Node that run the appender from its source. */
export function appenderArguments(path: string, mode: "bursts" | "singles"): string[] {
  const program = fileURLToPath(new URL("./appender.ts", import.meta.url));
  return ["--no-warnings", "--experimental-transform-types", "--conditions=@devtool/source", program, path, mode];
}

/** The environment that the appender runs in. */
export function appenderEnvironment(sabotage: Sabotage): Record<string, string> {
  return { PATH: process.env.PATH ?? "", DEVTOOL_TEST_SABOTAGE: sabotage };
}
