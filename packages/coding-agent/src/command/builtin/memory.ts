import type { CommandPlace } from "@devtool/server/agent";
import type { Memory } from "../../agent/memory.ts";
import { trustProblem } from "../../trust/trust.ts";
import { required } from "../arguments.ts";
import { type Following, followApproved } from "../follow-approved.ts";
import type { CommandServices } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { calling, callingOnce, saying } from "../steps.ts";

type LoadMemory = (place: CommandPlace) => Promise<Memory>;

/** `/memory show`, `list`, `refresh` and `add`: what the agent is told of the workspace. */
export function memoryCommands(
  load: LoadMemory,
  { trust, operator }: Pick<CommandServices, "trust" | "operator">,
): SlashCommand[] {
  return [
    reading("show", "Shows what the agent is told of this workspace", load, showText),
    reading("list", "Lists the memory files in use, from the most general to the nearest", load, listText),
    reading("refresh", "Reads the memory files again; that also happens with each message", load, refreshText),
    addCommand(trust && { trust, operator }),
  ];
}

function reading(word: string, description: string, load: LoadMemory, text: (memory: Memory) => string): SlashCommand {
  return {
    path: ["memory", word],
    group: "Shows and changes what the agent is told about the workspace by its memory files",
    description,
    arguments: [],
    play: (_args, place) => saying(async () => text(await load(place))),
  };
}

function addCommand(following: Following | undefined): SlashCommand {
  return {
    path: ["memory", "add"],
    description: "Adds a fact to the memory file of the workspace",
    arguments: [required("fact", "what the agent should know from now on")],
    play: (args, place) => {
      const call = { name: "save_memory", args: { fact: args.trim() } };
      if (!following) return calling(call);
      return callingOnce({
        first: () => ({ call }),
        last: async ({ history }) => {
          await followApproved(history, place, following);
          return trustProblem(place.workspacePath, await following.trust.trustOf(place.workspacePath));
        },
      });
    },
  };
}

function showText(memory: Memory): string {
  const shown = memory.files.map(({ path, text }) => `${path}\n\n${text.trimEnd()}`);
  return [...(shown.length > 0 ? shown : [NOTHING]), ...memory.notices].join("\n\n");
}

function listText({ files, notices }: Memory): string {
  const lines = files.map(({ path, bytes, scope }) => `${path} - ${bytes} bytes, ${SCOPES[scope]}`);
  return [...(lines.length > 0 ? lines : [NOTHING]), ...notices].join("\n");
}

function refreshText(memory: Memory): string {
  const bytes = memory.files.reduce((sum, file) => sum + file.bytes, 0);
  return [`Read ${memory.files.length} memory files with ${bytes} bytes.`, ...memory.notices].join("\n");
}

const NOTHING = "The agent is told nothing of this workspace.";

const SCOPES = { operator: "for all workspaces", workspace: "of the workspace" } as const;
