import { create } from "@bufbuild/protobuf";
import { type SlashCommandArgument, SlashCommandArgumentSchema } from "@devtool/schema";
import type { Prompt } from "@modelcontextprotocol/client";
import { contentText } from "./call-result.ts";
import type { McpConnection } from "./mcp-connection.ts";

/** A prompt that a server offers: a message ready to be sent. */
export interface McpPrompt {
  readonly server: string;
  /** As the server calls it. */
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly SlashCommandArgument[];
  /** Fills the prompt in. Throws when the server cannot. */
  get(args: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly McpPromptMessage[]>;
}

/** One message of a prompt that was filled in. */
export interface McpPromptMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

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
