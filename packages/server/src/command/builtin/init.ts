import type { Model } from "../../agent/model.ts";
import { Workspace } from "../../tool/workspace.ts";
import { trustProblem } from "../../trust/trust.ts";
import { draftMemory } from "../analysis/draft-memory.ts";
import { surveyWorkspace } from "../analysis/survey.ts";
import { followApproved } from "../follow-approved.ts";
import type { CommandServices } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { callingOnce, type FirstStep, prompting } from "../steps.ts";

const FILE = "AGENTS.md";

/** `/init`: looks at the workspace and proposes a memory file for it; writing it needs approval. */
export function initCommand({ prose, trust }: Pick<CommandServices, "prose" | "trust">): SlashCommand {
  return {
    path: ["init"],
    description: "Looks at the workspace and writes AGENTS.md, a file that tells agents about it",
    arguments: [],
    play: (_args, { workspacePath }) => {
      if (prose) return withModel(prose, workspacePath);
      return callingOnce({
        first: (request) => proposal(request.workspacePath),
        last: async ({ history }) => {
          if (!trust) return "";
          await followApproved(history, workspacePath, trust);
          return trustProblem(workspacePath, await trust.trustOf(workspacePath));
        },
      });
    },
  };
}

function proposal(workspacePath: string): FirstStep {
  using workspace = new Workspace(workspacePath);
  if ((workspace.readDirectory("") ?? []).some(({ name }) => name === FILE)) {
    return { text: `${FILE} is already there: change it with /memory add, or delete it and run /init again.` };
  }
  const content = draftMemory(surveyWorkspace(workspace));
  return { call: { name: "write_file", args: { file_path: FILE, content } } };
}

function withModel(model: Model, workspacePath: string): Model {
  return prompting(model, async () => {
    using workspace = new Workspace(workspacePath);
    return [{ role: "user", text: `${REQUEST}\n\n${draftMemory(surveyWorkspace(workspace))}` }];
  });
}

const REQUEST = `Look at this workspace and write ${FILE}, the file that tells coding agents what they must know to work here: \
what it is for, how it is laid out, how to build, test and check it, and the conventions that the code keeps. At most 80 \
lines, nothing that is obvious from the code, no claims that you did not check. Keep what is true of a ${FILE} that is there. \
This is what a quick look found; verify it:`;
