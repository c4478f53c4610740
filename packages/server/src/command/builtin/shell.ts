import { create } from "@bufbuild/protobuf";
import { SlashCommandArgumentSchema } from "@devtool/schema";
import type { SlashCommand } from "../slash-command.ts";
import { calling } from "../steps.ts";

/** `/shell`: runs a command line in the workspace; running it needs approval. */
export const shellCommand: SlashCommand = {
  path: ["shell"],
  description: "Runs a shell command in the workspace",
  arguments: [
    create(SlashCommandArgumentSchema, { name: "command", description: "the command line to run", isRequired: true }),
  ],
  play: (args) => calling({ name: "run_shell_command", args: { command: args } }),
};
