import { create } from "@bufbuild/protobuf";
import { isGuardedPath } from "@devtool/policy";
import { GenericDetailsSchema, oneLine } from "@devtool/schema";
import { type CommandPlace, invalid, quoted } from "@devtool/server/agent";
import { z } from "zod";
import type { RestorePreview } from "../../tool/checkpoint/checkpoints.ts";
import type { Tool } from "../../tool/tool.ts";
import { toolArgs } from "../../tool/tool-args.ts";
import { textResult } from "../../tool/tool-result.ts";
import { required } from "../arguments.ts";
import type { Checkpoints } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { calling, saying } from "../steps.ts";

/** `/restore list` and `/restore <checkpoint>`: brings files back; it asks first, as whatever changes files does. */
export function restoreCommands(checkpoints: Checkpoints): SlashCommand[] {
  const restore: SlashCommand = {
    path: ["restore"],
    description: "Brings the files of the workspace to where a checkpoint has them",
    arguments: [required("checkpoint", "the id of a checkpoint: see /restore list")],
    check: (args, place, signal) => refusalOf(checkpoints, { place, id: args.trim() }, signal),
    play: (args) => calling({ name: TOOL_NAME, args: { checkpoint: args.trim() } }),
    tools: (context) => [restoreTool(checkpoints, context)],
  };
  const list: SlashCommand = {
    path: ["restore", "list"],
    description: "Lists your checkpoints of the workspace, the latest first",
    arguments: [],
    play: (_args, place) =>
      saying(async (_request, signal) => {
        const found = await checkpoints.list(place, signal);
        if (found.length === 0) return "There are no checkpoints: one is made before each approved change of a file.";
        return found.map(({ id, time, label }) => `${id}  ${time.toISOString()}  ${label}`).join("\n");
      }),
  };
  return [restore, list];
}

/** Says why there is nothing to go back to. */
async function refusalOf(
  checkpoints: Checkpoints,
  { place, id }: { readonly place: CommandPlace; readonly id: string },
  signal: AbortSignal,
): Promise<string | undefined> {
  const found = await checkpoints.list(place, signal);
  if (found.some((checkpoint) => checkpoint.id === id)) return undefined;
  // Checkpoints are numbered: another number is no better guess.
  const hint =
    found.length === 0 ? "you have none here, one is made before each approved change of a file" : "see /restore list";
  return `checkpoint ${quoted(id)} does not exist: ${hint}`;
}

const TOOL_NAME = "restore_checkpoint";

const PARAMETERS = toolArgs({ checkpoint: z.string().describe("The id of the checkpoint.") });

function restoreTool(checkpoints: Checkpoints, place: CommandPlace): Tool {
  return {
    declaration: {
      name: TOOL_NAME,
      description: "Brings the files of the workspace to where a checkpoint has them.",
      parameters: PARAMETERS.jsonSchema,
    },
    prepare: async (args, preparing) => {
      const id = PARAMETERS.read(args).checkpoint;
      const known = (await checkpoints.list(place, preparing)).find((checkpoint) => checkpoint.id === id);
      if (!known) throw invalid("checkpoint", id, "does not exist", "see /restore list");
      const shown = await checkpoints.preview(place, id, preparing);
      const which = `${id} (${known.time.toISOString()}, before: ${known.label})`;
      const description = `Restore the files of the workspace to checkpoint ${which}`;
      const details = create(GenericDetailsSchema, { description: `${description}\n${changesText(shown)}` });
      return {
        args,
        description,
        changes: [...shown.write, ...shown.remove],
        confirmation: { case: "genericDetails", value: details },
        execute: async function* (signal) {
          const changed = await checkpoints.restore(place, shown, signal);
          yield textResult(changed.length === 0 ? "Nothing differed." : `Restored:\n${changed.join("\n")}`);
        },
      };
    },
  };
}

/** The maximum number of files that a question lists. */
const MAX_LISTED = 20;

/** The files that change, a line each, guarded ones first. */
function changesText({ write, remove }: RestorePreview): string {
  const changes = [
    ...write.map((path) => ({ path, note: "" })),
    ...remove.map((path) => ({ path, note: " (removed)" })),
  ].toSorted((one, other) => Number(isGuardedPath(other.path)) - Number(isGuardedPath(one.path)));
  if (changes.length === 0) return "No file differs.";
  const lines = changes.slice(0, MAX_LISTED).map(({ path, note }) => `  ${lineOf(path)}${note}`);
  const more = changes.length > MAX_LISTED ? [`  and ${changes.length - MAX_LISTED} more`] : [];
  return [`${changes.length === 1 ? "1 file changes" : `${changes.length} files change`}:`, ...lines, ...more].join(
    "\n",
  );
}

/** A path as one line, whatever characters are in it. */
function lineOf(path: string): string {
  return oneLine(path.replaceAll("\n", "\\n"));
}
