import type { AvailableCommand } from "@agentclientprotocol/sdk";
import { defined } from "@devtool/internal/json";
import { oneLine } from "@devtool/internal/visible-text";
import type { SlashCommand } from "@devtool/schema";

/**
 * Returns slash commands as ACP lists them: a command below another has both
 * words as its name.
 */
export function availableCommands(
  commands: readonly SlashCommand[],
  above = "",
): AvailableCommand[] {
  return commands.flatMap(
    ({ name, description, arguments: args, subCommands }) => {
      // A name that shows as another one would run what nobody typed.
      if (oneLine(name) !== name) return [];
      const path = `${above}${name}`;
      const hint = args
        .map((argument) =>
          argument.isRequired
            ? `<${oneLine(argument.name)}>`
            : `[${oneLine(argument.name)}]`,
        )
        .join(" ");
      const own: AvailableCommand = defined({
        name: path,
        description: oneLine(description),
        input: hint === "" ? undefined : { hint },
      });
      const below = availableCommands(subCommands, `${path} `);
      return below.length > 0 && args.length === 0 ? below : [own, ...below];
    },
  );
}

/** A prompt that runs a slash command. */
export interface CommandLine {
  readonly commandPath: string[];
  /** The text after the words of the command. */
  readonly args: string;
}

/**
 * Reads a prompt as a slash command. Undefined if it does not begin with one
 * that is known: it is a message then.
 */
export function readCommandLine(
  prompt: string,
  known: readonly SlashCommand[],
): CommandLine | undefined {
  if (!prompt.startsWith("/")) return undefined;
  const commandPath: string[] = [];
  let rest = prompt.slice(1);
  let level = known;
  for (;;) {
    const [, word = "", after = ""] = /^(\S+)\s*([\s\S]*)$/.exec(rest) ?? [];
    const found = level.find(({ name }) => name === word);
    if (!found) break;
    commandPath.push(word);
    rest = after;
    level = found.subCommands;
  }
  return commandPath.length === 0
    ? undefined
    : { commandPath, args: rest.trim() };
}
