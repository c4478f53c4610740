import type { CommandPlace } from "@devtool/server/agent";
import type { AgentModel } from "../agent/model.ts";
import { clientError } from "../client-error.ts";
import type { McpPrompt } from "../tool/mcp.ts";
import { readArguments } from "./arguments.ts";
import type { CommandSource } from "./slash-command.ts";
import { promptModel } from "./steps.ts";

/** Lists the prompts that MCP servers offer in a workspace. */
export interface PromptServers {
  prompts(
    place: CommandPlace,
    signal: AbortSignal,
  ): Promise<readonly McpPrompt[]>;
}

/** Dependencies of the commands for prompts of MCP servers. */
export interface PromptCommandsOptions {
  readonly servers: PromptServers;
  /** The model that responds to the prompts. */
  readonly model: AgentModel;
  /** Receives notices for the operator, as plain text. */
  readonly onNotice: (text: string) => void;
}

/**
 * Creates a source that offers the prompts of MCP servers as commands
 * `/<server> <prompt>`.
 *
 * When the servers cannot be reached, it finds no commands and gives a notice.
 */
export function createPromptCommands({
  servers,
  model,
  onNotice,
}: PromptCommandsOptions): CommandSource {
  return {
    find: async (place, signal) => {
      try {
        const prompts = await servers.prompts(place, signal);
        const commands = prompts.map((prompt) => ({
          // Each name becomes one word that a user can type.
          path: [prompt.server, prompt.name].map((name) =>
            name.trim().replaceAll(/[\s/]+/g, "-"),
          ),
          description:
            prompt.description || `Prompt of the MCP server ${prompt.server}`,
          group: `Runs a prompt that the MCP server ${prompt.server} offers`,
          arguments: prompt.arguments,
          play: (args: string) => {
            const values = readArguments(prompt.arguments, args);
            return promptModel(model, (reading, trace) =>
              prompt.get(values, reading, trace),
            );
          },
        }));
        return { commands, notices: [] };
      } catch (reason) {
        const { message } = clientError(
          reason,
          "finding prompts",
          { workspace: place.workspacePath },
          onNotice,
        );
        return {
          commands: [],
          notices: [`the prompts of MCP servers are missing: ${message}`],
        };
      }
    },
  };
}
