import type { CommandPlace } from "@devtool/server/agent";
import type { Model } from "../agent/model.ts";
import { clientError } from "../tool/hidden-fault.ts";
import type { McpPrompt } from "../tool/mcp.ts";
import { readArguments } from "./arguments.ts";
import type { CommandSource, SlashCommand } from "./slash-command.ts";
import { prompting } from "./steps.ts";

/** The prompts that MCP servers offer in a workspace. */
export interface PromptServers {
  prompts(place: CommandPlace, signal: AbortSignal): Promise<readonly McpPrompt[]>;
}

/** What the commands of prompts need. */
export interface PromptCommandsOptions {
  readonly servers: PromptServers;
  /** Who is told the prompts. */
  readonly model: Model;
  /** Takes what the operator should know, in words. */
  readonly onNotice: (text: string) => void;
}

/** The prompts of MCP servers as commands: `/<server> <prompt>`. Servers that cannot be asked have none. */
export function createPromptCommands({ servers, model, onNotice }: PromptCommandsOptions): CommandSource {
  return {
    model: model.name,
    find: async (place, signal) => {
      try {
        const prompts = await servers.prompts(place, signal);
        return { commands: prompts.map((prompt) => commandOf(prompt, model)), notices: [] };
      } catch (reason) {
        const where = { workspace: place.workspacePath };
        const { message } = clientError(reason, { what: "finding prompts", place: where, onNotice });
        return { commands: [], notices: [`the prompts of MCP servers are missing: ${message}`] };
      }
    },
  };
}

function commandOf(prompt: McpPrompt, model: Model): SlashCommand {
  return {
    path: [word(prompt.server), word(prompt.name)],
    description: prompt.description || `Prompt of the MCP server ${prompt.server}`,
    group: `Runs a prompt that the MCP server ${prompt.server} offers`,
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
