import { required } from "../arguments.ts";
import type { SlashCommand } from "../slash-command.ts";
import { calling } from "../steps.ts";

/** `/shell`: runs a command line in the workspace; running it needs approval. */
export const shellCommand: SlashCommand = {
  path: ["shell"],
  description: "Runs a shell command in the workspace",
  arguments: [required("command", "the command line to run")],
  play: (args) => calling({ name: "run_shell_command", args: { command: args } }),
};
