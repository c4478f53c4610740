import { create } from "@bufbuild/protobuf";
import type { McpPrompt } from "@devtool/coding-agent/tool";
import { SlashCommandArgumentSchema } from "@devtool/schema";
import type { Prompt } from "@modelcontextprotocol/client";
import { contentText } from "./call-result.ts";
import type { McpConnection } from "./mcp-connection.ts";

/** Reads a prompt as the SDK lists it; `connect` gives the connection to fill it in with. */
export function mcpPrompt(
  server: string,
  prompt: Prompt,
  connect: (signal: AbortSignal) => Promise<McpConnection>,
): McpPrompt {
  return {
    server,
    name: prompt.name,
    description: prompt.description ?? prompt.title ?? "",
    arguments: (prompt.arguments ?? []).map(({ name, description = "", required = false }) =>
      create(SlashCommandArgumentSchema, { name, description, isRequired: required }),
    ),
    get: async (args, signal) => {
      const { messages } = await (await connect(signal)).prompt(prompt.name, args, signal);
      return messages.map(({ role, content }) => ({ role, text: contentText([content]) }));
    },
  };
}
