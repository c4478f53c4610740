import type { Tool } from "@devtool/coding-agent";
import { textResult } from "@devtool/coding-agent/tool";
import type { McpServer } from "@devtool/schema";
import type { ToolSource } from "./chaos-run.ts";
import { Client, StdioClientTransport } from "./sdk.ts";

/**
 * The tools of servers as the SDK gives them, without any guard of ours: no
 * deadline, no process group.
 */
export function unguardedTools(settings: readonly McpServer[]): ToolSource {
  const clients: Client[] = [];
  return {
    tools: async () =>
      (
        await Promise.all(settings.map((server) => toolsOf(server, clients)))
      ).flat(),
    [Symbol.asyncDispose]: async () =>
      void (await Promise.all(clients.map((client) => client.close()))),
  };
}

async function toolsOf(
  { name: server, transport }: McpServer,
  clients: Client[],
): Promise<Tool[]> {
  if (transport.case !== "stdio") {
    throw new Error("servers of chaos are processes");
  }
  const { command, args, env } = transport.value;
  const client = new Client({ name: "unguarded", version: "1" });
  clients.push(client);
  await client.connect(
    new StdioClientTransport({ command, args, env, stderr: "ignore" }),
  );
  const { tools } = await client.listTools();
  return tools.map(({ name }) => ({
    declaration: {
      name: `mcp__${server}__${name}`,
      description: "",
      parameters: {},
    },
    facts: { mcpServer: server },
    prepare: async (args) => ({
      args,
      description: name,
      execute: async function* (signal) {
        yield textResult(
          JSON.stringify(
            await client.callTool({ name, arguments: args }, { signal }),
          ),
        );
      },
    }),
  }));
}
