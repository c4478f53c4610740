import { create } from "@bufbuild/protobuf";
import type { McpPrompt } from "@devtool/coding-agent/tool";
import { SlashCommandArgumentSchema } from "@devtool/schema";
import type { Prompt } from "@modelcontextprotocol/client";
import { contentText } from "./call-result.ts";
import type { McpConnection } from "./mcp-connection.ts";

/**
 * Returns a prompt of a server for the agent. `connect` returns the connection
 * over which the prompt is filled in.
 */
export function createMcpPrompt(
  server: string,
  prompt: Prompt,
  connect: (signal: AbortSignal) => Promise<McpConnection>,
): McpPrompt {
  return {
    server,
    name: prompt.name,
    description: prompt.description ?? prompt.title ?? "",
    arguments: (prompt.arguments ?? []).map(
      ({ name, description = "", required = false }) =>
        create(SlashCommandArgumentSchema, {
          name,
          description,
          isRequired: required,
        }),
    ),
    get: async (args, signal) => {
      const { messages } = await (await connect(signal)).getPrompt(
        prompt.name,
        args,
        signal,
      );
      return messages.map(({ role, content }) => ({
        role,
        text: contentText([content]),
      }));
    },
  };
}
