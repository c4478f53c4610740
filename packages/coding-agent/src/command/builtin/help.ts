import type { SlashCommand } from "../slash-command.ts";
import { saying } from "../steps.ts";

/** `/help`: the commands there are, this one included. */
export function helpCommand(others: readonly SlashCommand[]): SlashCommand {
  const help: SlashCommand = {
    path: ["help"],
    description: "Lists the slash commands",
    arguments: [],
    play: () => saying(() => [help, ...others].map(usage).join("\n")),
  };
  return help;
}

function usage(command: SlashCommand): string {
  const words = command.arguments.map(({ name, isRequired }) => (isRequired ? ` <${name}>` : ` [${name}]`));
  return `/${command.path.join(" ")}${words.join("")} - ${command.description}`;
}
