import type { SlashCommandArgument } from "@devtool/schema";
import type { Model } from "../agent/model.ts";
import { DevtoolError } from "../errors.ts";
import { readArguments } from "./arguments.ts";
import type { CommandPlace, CommandSource, SlashCommand } from "./slash-command.ts";
import { type PromptMessage, prompting } from "./steps.ts";

/** The prompts that MCP servers offer in a workspace. */
export interface PromptServers {
  prompts(place: CommandPlace, signal: AbortSignal): Promise<readonly ServerPrompt[]>;
}

/** One prompt of an MCP server. */
export interface ServerPrompt {
  readonly server: string;
  /** As the server calls it. */
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly SlashCommandArgument[];
  /** The prompt with its arguments filled in. Throws when the server cannot give it. */
  get(args: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly PromptMessage[]>;
}

/** What the commands of prompts need. */
export interface PromptCommandsOptions {
  readonly servers: PromptServers;
  /** Who is told the prompts. */
  readonly model: Model;
}

/** The prompts of MCP servers as commands: `/<server> <prompt>`. Servers that cannot be asked have none. */
export function createPromptCommands({ servers, model }: PromptCommandsOptions): CommandSource {
  return {
    model: model.name,
    find: async (place, signal) => {
      try {
        const prompts = await servers.prompts(place, signal);
        return { commands: prompts.map((prompt) => commandOf(prompt, model)), notices: [] };
      } catch (reason) {
        return {
          commands: [],
          notices: [`the prompts of MCP servers are missing: ${DevtoolError.from(reason).message}`],
        };
      }
    },
  };
}

function commandOf(prompt: ServerPrompt, model: Model): SlashCommand {
  return {
    path: [word(prompt.server), word(prompt.name)],
    description: prompt.description || `Prompt of the MCP server ${prompt.server}`,
    arguments: prompt.arguments,
    play: (args) => {
      const values = readArguments(prompt.arguments, args);
      return prompting(model, (signal) => prompt.get(values, signal));
    },
  };
}

/** A name as it can be typed: one word. */
function word(name: string): string {
  return name.trim().replaceAll(/[\s/]+/g, "-");
}
