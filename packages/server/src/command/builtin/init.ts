import type { SlashCommand } from "../slash-command.ts";
import { calling } from "../steps.ts";

const CONTENT = `# About this project

Say here what an agent should know before it works in this directory:

- what the project is for
- how to build it and how to run its tests
- the conventions to keep
`;

/** `/init`: proposes a memory file for the workspace; writing it needs approval. */
export const initCommand: SlashCommand = {
  path: ["init"],
  description: "Writes AGENTS.md, a file that tells agents about this workspace",
  arguments: [],
  play: () => calling({ name: "write_file", args: { file_path: "AGENTS.md", content: CONTENT } }),
};
