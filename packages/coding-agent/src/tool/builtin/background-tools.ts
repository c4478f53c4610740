import { visibleText } from "@devtool/schema";
import { z } from "zod";
import type { Tool } from "../tool.ts";
import { toolArgs } from "../tool-args.ts";
import { textResult } from "../tool-result.ts";
import type { BackgroundProcesses, BackgroundState } from "./background-processes.ts";

const ID = z.string().describe("The id that run_shell_command gave.");
const STOP = toolArgs({ id: ID });
const READ = toolArgs({
  id: ID,
  wait_ms: z
    .int()
    .optional()
    .describe("How long to wait for more output or the end, in milliseconds: at most 60000. Default 0."),
});
const MAX_WAIT_MS = 60_000;

/** `read_background_output`: gives the output of a background process so far, and how it ended if it did. */
export function readBackgroundOutputTool(background: BackgroundProcesses): Tool {
  return {
    declaration: {
      name: "read_background_output",
      description: "Gives the output of a background process so far, and its exit code once it has ended.",
      parameters: READ.jsonSchema,
    },
    prepare: async (args) => {
      const checked = READ.read(args);
      const id = checked.id;
      const waitMs = Math.min(Math.max(checked.wait_ms ?? 0, 0), MAX_WAIT_MS);
      return {
        args,
        description: `Read the output of background process ${visibleText(id)}`,
        execute: async function* (signal) {
          yield textResult(stateText(id, await background.read(id, waitMs, signal)));
        },
      };
    },
  };
}

/** `stop_background_process`: ends a background process with all that it started. It asks nothing: the agent started it. */
export function stopBackgroundProcessTool(background: BackgroundProcesses): Tool {
  return {
    declaration: {
      name: "stop_background_process",
      description: "Ends a background process and gives its last output.",
      parameters: STOP.jsonSchema,
    },
    prepare: async (args) => {
      const id = STOP.read(args).id;
      return {
        args,
        description: `End background process ${visibleText(id)}`,
        execute: async function* () {
          yield textResult(stateText(id, await background.stop(id)));
        },
      };
    },
  };
}

function stateText(id: string, { command, output, end }: BackgroundState): string {
  return `background process ${id} (${command}) ${endText(end)}\n${output}`;
}

function endText(end: BackgroundState["end"]): string {
  if (!end) return "runs";
  if (end.error) return `could not be started: ${end.error.message}`;
  return end.signalName === "" ? `ended with exit code ${end.exitCode}` : `was ended by ${end.signalName}`;
}
