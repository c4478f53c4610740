import { create } from "@bufbuild/protobuf";
import { GenericDetailsSchema } from "@devtool/schema";
import type { Tool } from "../../tool/tool.ts";
import { jsonSchemaOf, type Parameters, ToolArgs } from "../../tool/tool-args.ts";
import { textResult } from "../../tool/tool-result.ts";
import { required } from "../arguments.ts";
import type { Checkpoints } from "../services.ts";
import type { CommandContext, SlashCommand } from "../slash-command.ts";
import { calling, saying } from "../steps.ts";

/** `/restore list` and `/restore <checkpoint>`: brings files back; it asks first, as whatever changes files does. */
export function restoreCommands(checkpoints: Checkpoints): SlashCommand[] {
  const restore: SlashCommand = {
    path: ["restore"],
    description: "Brings the files of the workspace to where a checkpoint has them",
    arguments: [required("checkpoint", "the id of a checkpoint: see /restore list")],
    play: (args) => calling({ name: TOOL_NAME, args: { checkpoint: args.trim() } }),
    tools: (context) => [restoreTool(checkpoints, context)],
  };
  const list: SlashCommand = {
    path: ["restore", "list"],
    description: "Lists the checkpoints of the workspace, the latest first",
    arguments: [],
    play: (_args, { workspacePath }) =>
      saying(async (_request, signal) => {
        const found = await checkpoints.list(workspacePath, signal);
        if (found.length === 0) return "There are no checkpoints: one is made before each approved change of a file.";
        return found.map(({ id, time, label }) => `${id}  ${time.toISOString()}  ${label}`).join("\n");
      }),
  };
  return [restore, list];
}

const TOOL_NAME = "restore_checkpoint";

const PARAMETERS: Parameters = {
  required: { checkpoint: { type: "string", description: "The id of the checkpoint." } },
  optional: {},
};

function restoreTool(checkpoints: Checkpoints, { workspacePath }: CommandContext): Tool {
  return {
    declaration: {
      name: TOOL_NAME,
      description: "Brings the files of the workspace to where a checkpoint has them.",
      parameters: jsonSchemaOf(PARAMETERS),
    },
    prepare: async (args, preparing) => {
      const id = new ToolArgs(args, PARAMETERS).text("checkpoint");
      const known = (await checkpoints.list(workspacePath, preparing)).find((checkpoint) => checkpoint.id === id);
      const what = known ? `${id} (${known.time.toISOString()}, before: ${known.label})` : id;
      const description = `Restore the files of the workspace to checkpoint ${what}`;
      return {
        args,
        description,
        confirmation: { case: "genericDetails", value: create(GenericDetailsSchema, { description }) },
        execute: async function* (signal) {
          const changed = await checkpoints.restore(workspacePath, id, signal);
          yield textResult(changed.length === 0 ? "Nothing differed." : `Restored:\n${changed.join("\n")}`);
        },
      };
    },
  };
}
