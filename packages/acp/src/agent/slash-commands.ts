import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import {
  type SlashCommand,
  SlashCommandArgumentSchema,
  SlashCommandSchema,
} from "@devtool/schema";

/**
 * Returns the commands of an `available_commands_update`: a name of several
 * words is a command below another.
 */
export function commandTree({ availableCommands }: JsonObject): SlashCommand[] {
  const commands: SlashCommand[] = [];
  for (const item of listOrEmpty(availableCommands).filter(isObject)) {
    const words = stringOrEmpty(item.name)
      .split(" ")
      .filter((word) => /^[^\s/]{1,64}$/.test(word));
    let level = commands;
    for (const [index, name] of words.entries()) {
      const known = level.find((command) => command.name === name);
      const command =
        known ??
        create(SlashCommandSchema, {
          name,
          description: `Commands of ${name}.`,
        });
      if (!known) level.push(command);
      if (index === words.length - 1) {
        command.description = stringOrEmpty(item.description);
        const hint = stringOrEmpty(objectOrEmpty(item.input).hint);
        command.arguments =
          hint === ""
            ? []
            : [
                create(SlashCommandArgumentSchema, {
                  name: "args",
                  description: hint,
                }),
              ];
      }
      level = command.subCommands;
    }
  }
  return commands;
}

/** Returns why a command cannot start; undefined when it can. */
export function findCommand(
  commands: readonly SlashCommand[],
  path: readonly string[],
): string | undefined {
  let level = commands;
  for (const word of path) {
    const command = level.find(({ name }) => name === word);
    if (!command && level === commands && word === "mcp") {
      return "the agent manages its MCP servers itself, and ACP has no way to ask it for their states";
    }
    if (!command) {
      const names = level.map(({ name }) => `/${name}`).join(", ");
      return `command "/${path.join(" ")}" does not exist: ${names === "" ? "the agent has none" : `choose ${names}`}`;
    }
    level = command.subCommands;
  }
  return path.length === 0 ? "the command is missing" : undefined;
}
