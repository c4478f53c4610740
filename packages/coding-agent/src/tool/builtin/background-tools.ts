import { visibleText } from "@devtool/internal/visible-text";
import { z } from "zod";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { BackgroundProcesses } from "./background-processes.ts";
import { formatState, READ_NAME } from "./background-state.ts";

const ID = z.string().describe("The id that run_shell_command gave.");
const STOP = toolArgs({ id: ID });
const READ = toolArgs({
  id: ID,
  wait_ms: z
    .int()
    .optional()
    .describe(
      "How long to wait for more output or the end, in milliseconds: at most 60000. Default 0. A call that finds nothing new again waits longer each time.",
    ),
});
const MAX_WAIT_MS = 60_000;

/**
 * Creates the tool `read_background_output`, which returns the output of a
 * background process and how it ended.
 */
export function readBackgroundOutputTool(
  background: BackgroundProcesses,
): Tool {
  return {
    declaration: {
      name: READ_NAME,
      description:
        "Gives the output of a background process so far, and its exit code once it has ended.",
      parameters: READ.jsonSchema,
    },
    prepare: async (args) => {
      const { id, wait_ms = 0 } = READ.read(args);
      const waitMs = Math.min(Math.max(wait_ms, 0), MAX_WAIT_MS);
      return {
        args,
        description: `Read the output of background process ${visibleText(id)}`,
        execute: async function* (signal) {
          yield textResult(
            formatState(id, await background.read(id, waitMs, signal)),
          );
        },
      };
    },
  };
}

/**
 * Creates the tool `stop_background_process`, which ends a background process
 * with all processes that it started.
 *
 * It needs no approval, because the agent started the process.
 */
export function stopBackgroundProcessTool(
  background: BackgroundProcesses,
): Tool {
  return {
    declaration: {
      name: "stop_background_process",
      description: "Ends a background process and gives its last output.",
      parameters: STOP.jsonSchema,
    },
    prepare: async (args) => {
      const { id } = STOP.read(args);
      return {
        args,
        description: `End background process ${visibleText(id)}`,
        execute: async function* () {
          yield textResult(formatState(id, await background.stop(id)));
        },
      };
    },
  };
}
