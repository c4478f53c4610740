import { create } from "@bufbuild/protobuf";
import type { McpPrompt } from "@devtool/coding-agent/tool";
import { SlashCommandArgumentSchema } from "@devtool/schema";
import type { Prompt } from "@modelcontextprotocol/client";
import { contentText } from "./call-result.ts";
import type { McpSupervisor } from "./mcp-supervisor.ts";

/** Returns a prompt of a server for the agent. */
export function createMcpPrompt(
  supervisor: McpSupervisor,
  prompt: Prompt,
): McpPrompt {
  return {
    server: supervisor.server.name,
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
    get: async (args, signal, trace) => {
      const { messages } = await supervisor.ask(
        (connection) => connection.getPrompt(prompt.name, args, signal, trace),
        signal,
      );
      return messages.map(({ role, content }) => ({
        role,
        text: contentText([content]),
      }));
    },
  };
}
