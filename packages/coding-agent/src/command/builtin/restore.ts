import { create } from "@bufbuild/protobuf";
import { oneLine } from "@devtool/internal/visible-text";
import { isGuardedPath } from "@devtool/policy";
import { GenericDetailsSchema } from "@devtool/schema";
import { invalid, quoted } from "@devtool/server/agent";
import type {
  CheckpointOrigin,
  StoredCheckpoints,
} from "../../tool/checkpoint/checkpoints.ts";
import type { RestorePreview } from "../../tool/checkpoint/restore-files.ts";
import type { Tool } from "../../tool/tool.ts";
import { textResult } from "../../tool/tool-result.ts";
import { required } from "../arguments.ts";
import type { SlashCommand } from "../slash-command.ts";
import { callTool, replyWith } from "../steps.ts";

const TOOL_NAME = "restore_checkpoint";

const PARAMETERS = {
  type: "object",
  properties: {
    checkpoint: { type: "string", description: "The id of the checkpoint." },
  },
  required: ["checkpoint"],
};

/**
 * Creates `/restore <checkpoint>` and `/restore list`.
 *
 * Restoring needs approval, as any change of files does.
 */
export function restoreCommands(
  checkpoints: StoredCheckpoints,
): SlashCommand[] {
  const restore: SlashCommand = {
    path: ["restore"],
    description: "Restores the files of the workspace to a checkpoint",
    arguments: [
      required("checkpoint", "the id of a checkpoint: see /restore list"),
    ],
    check: async (args, place, signal) => {
      const found = await checkpoints.list(place, signal);
      const id = args.trim();
      if (found.some((checkpoint) => checkpoint.id === id)) return undefined;
      // No similar id is suggested: checkpoints are numbered, so another number
      // is not a better guess.
      const remedy =
        found.length === 0
          ? "you have none here, one is made before each approved change of a file"
          : "see /restore list";
      return `checkpoint ${quoted(id)} does not exist: ${remedy}`;
    },
    uses: TOOL_NAME,
    play: (args) =>
      callTool({ name: TOOL_NAME, args: { checkpoint: args.trim() } }),
    tools: (context, taskId) => [
      restoreTool(checkpoints, { ...context, taskId }),
    ],
  };
  const list: SlashCommand = {
    path: ["restore", "list"],
    description: "Lists your checkpoints of the workspace, newest first",
    arguments: [],
    play: (_args, place) =>
      replyWith(async (_request, signal) => {
        const found = await checkpoints.list(place, signal);
        if (found.length === 0) {
          return "There are no checkpoints: one is made before each approved change of a file.";
        }
        return found
          .map(
            ({ id, time, label }) => `${id}  ${time.toISOString()}  ${label}`,
          )
          .join("\n");
      }),
  };
  return [restore, list];
}

function restoreTool(
  checkpoints: StoredCheckpoints,
  origin: CheckpointOrigin,
): Tool {
  return {
    declaration: {
      name: TOOL_NAME,
      description: "Restores the files of the workspace to a checkpoint.",
      parameters: PARAMETERS,
    },
    prepare: async (args, preparing) => {
      const id = typeof args.checkpoint === "string" ? args.checkpoint : "";
      const known = (await checkpoints.list(origin, preparing)).find(
        (checkpoint) => checkpoint.id === id,
      );
      if (!known) {
        throw invalid("checkpoint", id, "does not exist", "see /restore list");
      }
      const preview = await checkpoints.preview(origin, id, preparing);
      const which = `${id} (${known.time.toISOString()}, before: ${known.label})`;
      const description = `Restore the files of the workspace to checkpoint ${which}`;
      const details = create(GenericDetailsSchema, {
        description: `${description}\n${formatPreview(preview)}`,
      });
      return {
        args,
        description,
        changes: [...preview.write, ...preview.remove],
        confirmation: { case: "genericDetails", value: details },
        execute: async function* (signal) {
          const changed = await checkpoints.restore(origin, preview, signal);
          yield textResult(
            changed.length === 0
              ? "Nothing differed."
              : `Restored:\n${changed.join("\n")}`,
          );
        },
      };
    },
  };
}

/** The maximum number of files that the approval request lists. */
const MAX_LISTED = 20;

/** Formats the files that would change, one per line, guarded files first. */
function formatPreview({ write, remove }: RestorePreview): string {
  const changes = [
    ...write.map((path) => ({ path, note: "" })),
    ...remove.map((path) => ({ path, note: " (removed)" })),
  ].toSorted(
    (one, other) =>
      Number(isGuardedPath(other.path)) - Number(isGuardedPath(one.path)),
  );
  if (changes.length === 0) return "No file differs.";
  const lines = changes
    .slice(0, MAX_LISTED)
    .map(
      ({ path, note }) => `  ${oneLine(path.replaceAll("\n", "\\n"))}${note}`,
    );
  const more =
    changes.length > MAX_LISTED
      ? [`  and ${changes.length - MAX_LISTED} more`]
      : [];
  const heading =
    changes.length === 1
      ? "1 file changes:"
      : `${changes.length} files change:`;
  return [heading, ...lines, ...more].join("\n");
}
