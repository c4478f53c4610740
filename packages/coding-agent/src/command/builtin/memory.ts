import type { CommandPlace } from "@devtool/server/agent";
import type { Memory } from "../../agent/memory.ts";
import { trustProblem } from "../../trust/trust.ts";
import { required } from "../arguments.ts";
import type { CommandServices } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { callThenReply, callTool, replyWith } from "../steps.ts";
import { trustApprovedChanges } from "../trust-approved-changes.ts";

const NO_MEMORY = "There are no memory files for this workspace.";

type LoadMemory = (place: CommandPlace) => Promise<Memory>;

/**
 * Creates `/memory show`, `list`, `refresh` and `add`, which show and change
 * the memory files for the workspace.
 */
export function memoryCommands(
  load: LoadMemory,
  services: Pick<CommandServices, "trust" | "operator">,
): SlashCommand[] {
  return [
    showCommand(
      "show",
      "Shows the contents of the memory files for this workspace",
      load,
      ({ files, notices }) => {
        const contents = files.map(
          ({ path, text }) => `${path}\n\n${text.trimEnd()}`,
        );
        return [
          ...(contents.length > 0 ? contents : [NO_MEMORY]),
          ...notices,
        ].join("\n\n");
      },
    ),
    showCommand(
      "list",
      "Lists the memory files in use, from the most general to the most specific",
      load,
      ({ files, notices }) => {
        const lines = files.map(({ path, bytes, scope }) => {
          return `${path} - ${bytes} bytes, ${scope === "operator" ? "for all workspaces" : "of the workspace"}`;
        });
        return [...(lines.length > 0 ? lines : [NO_MEMORY]), ...notices].join(
          "\n",
        );
      },
    ),
    showCommand(
      "refresh",
      "Reads the memory files again; that also happens with each message",
      load,
      ({ files, notices }) => {
        const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
        const count =
          files.length === 1 ? "1 memory file" : `${files.length} memory files`;
        return [`Read ${count} with ${bytes} bytes.`, ...notices].join("\n");
      },
    ),
    addCommand(services),
  ];
}

function showCommand(
  word: string,
  description: string,
  load: LoadMemory,
  format: (memory: Memory) => string,
): SlashCommand {
  return {
    path: ["memory", word],
    group: "Shows and changes the memory files, which instruct the agent",
    description,
    arguments: [],
    play: (_args, place) => replyWith(async () => format(await load(place))),
  };
}

function addCommand({
  trust,
  operator,
}: Pick<CommandServices, "trust" | "operator">): SlashCommand {
  return {
    path: ["memory", "add"],
    description: "Adds a fact to the memory file of the workspace",
    arguments: [required("fact", "what the agent should know from now on")],
    uses: "save_memory",
    play: (args, place) => {
      const call = { name: "save_memory", args: { fact: args.trim() } };
      if (!trust) return callTool(call);
      return callThenReply({
        first: () => ({ call }),
        last: async ({ history }) => {
          await trustApprovedChanges(history, place, { trust, operator });
          return trustProblem(
            place.workspacePath,
            await trust.trustOf(place.workspacePath),
          );
        },
      });
    },
  };
}
