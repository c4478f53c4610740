import type { ToolDeclaration } from "../../tool/tool.ts";
import type { SlashCommand } from "../slash-command.ts";
import { saying } from "../steps.ts";

/** `/tools`: what the agent may call in this session. */
export const toolsCommand: SlashCommand = {
  path: ["tools"],
  description: "Lists the tools that the agent has",
  arguments: [],
  play: () => saying(({ tools }) => tools.map(describe).join("\n")),
};

function describe({ name, description }: ToolDeclaration): string {
  return `${name} - ${description.split(/(?<=\.)\s/, 1)[0]}`;
}
