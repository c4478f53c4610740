import { create } from "@bufbuild/protobuf";
import { type SlashCommandArgument, SlashCommandArgumentSchema } from "@devtool/schema";
import type { Model } from "../agent/model.ts";
import { DevtoolError } from "../errors.ts";
import { readArguments } from "./arguments.ts";
import type { CommandSource, SlashCommand } from "./slash-command.ts";
import { prompting } from "./steps.ts";

/** The prompts that MCP servers offer in a workspace. */
export interface PromptServers {
  prompts(workspacePath: string, signal: AbortSignal): Promise<readonly ServerPrompt[]>;
}

/** One prompt of an MCP server. */
export interface ServerPrompt {
  readonly serverName: string;
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly PromptArgument[];
  /** The text of the prompt with its arguments filled in. Throws a `DevtoolError` when the server cannot give it. */
  get(args: Readonly<Record<string, string>>, signal: AbortSignal): Promise<string>;
}

/** An argument of a prompt. */
export interface PromptArgument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
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
    find: async (workspacePath, signal) => {
      try {
        const prompts = await servers.prompts(workspacePath, signal);
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
  const declared = prompt.arguments.map(argumentOf);
  return {
    path: [word(prompt.serverName), word(prompt.name)],
    description: prompt.description || `Prompt of the MCP server ${prompt.serverName}`,
    arguments: declared,
    play: (args) => {
      const values = readArguments(declared, args);
      return prompting(model, (signal) => prompt.get(values, signal));
    },
  };
}

function argumentOf({ name, description, required }: PromptArgument): SlashCommandArgument {
  return create(SlashCommandArgumentSchema, { name, description, isRequired: required });
}

/** A name as it can be typed: one word. */
function word(name: string): string {
  return name.trim().replaceAll(/[\s/]+/g, "-");
}
