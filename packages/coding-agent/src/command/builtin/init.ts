import { posix } from "node:path";
import { Workspace } from "../../tool/workspace.ts";
import { trustProblem } from "../../trust/trust.ts";
import type { CommandServices } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { callThenReply, promptModel } from "../steps.ts";
import { trustApprovedChanges } from "../trust-approved-changes.ts";

const FILE = "AGENTS.md";

/**
 * Creates `/init`, which writes a memory file for the workspace, after the
 * user's approval.
 *
 * A model that understands prose explores the workspace with its tools and
 * writes the file. Without such a model, the command proposes a template.
 */
export function initCommand(
  services: Pick<CommandServices, "prose" | "trust" | "operator">,
): SlashCommand {
  const { prose, trust, operator } = services;
  return {
    path: ["init"],
    description:
      "Explores the workspace and writes AGENTS.md, a file that instructs agents",
    arguments: [],
    uses: "write_file",
    play: (_args, place) => {
      if (prose) {
        return promptModel(prose, async () => [
          { role: "user", text: REQUEST },
        ]);
      }
      return callThenReply({
        first: (request) => {
          using workspace = new Workspace(request.workspacePath);
          if (
            (workspace.readDirectory("") ?? []).some(
              ({ name }) => name === FILE,
            )
          ) {
            return {
              text: `${FILE} is already there: change it with /memory add, or delete it and run /init again.`,
            };
          }
          const content = `# ${posix.basename(workspace.root)}\n\n${SECTIONS}`;
          return {
            call: { name: "write_file", args: { file_path: FILE, content } },
          };
        },
        last: async ({ history }) => {
          if (!trust) return "";
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

const SECTIONS = `Say here what the project is for.

## Layout

- Say here what the directories hold.

## Commands

- Say here how to build, test and check it.

## Conventions

- Say here what an agent cannot see in the code: rules to keep, traps, whom to ask.
`;

const REQUEST = `Look at this workspace with your tools and write ${FILE}, the file that tells coding agents what they must \
know to work here: what it is for, how it is laid out, how to build, test and check it, and the conventions that the code \
keeps. List the directory and read the manifests, the README and the CI workflows first. At most 80 lines, nothing that is \
obvious from the code, no claims that you did not check. If there is already a ${FILE}, keep what is still true of it.`;
