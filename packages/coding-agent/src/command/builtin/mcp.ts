import type { McpServerStatus } from "../../tool/mcp.ts";
import type { McpStatus } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { replyWith } from "../steps.ts";

/**
 * Creates `/mcp list` and `/mcp refresh`, which show the MCP servers of the
 * workspace.
 */
export function mcpCommands(mcp: McpStatus): SlashCommand[] {
  const list: SlashCommand = {
    path: ["mcp", "list"],
    group:
      "Shows the MCP servers whose tools the agent has, and reconnects to them",
    description:
      "Lists the MCP servers, their state and how many tools they have",
    arguments: [],
    play: (_args, context) =>
      replyWith(async (_request, signal) =>
        formatServers(await mcp.list(context, signal)),
      ),
  };
  const refresh: SlashCommand = {
    path: ["mcp", "refresh"],
    description: "Starts all MCP servers again and lists their tools",
    arguments: [],
    play: (_args, context) =>
      replyWith(async (_request, signal) => {
        await mcp.refresh(context, signal);
        return formatServers(await mcp.list(context, signal));
      }),
  };
  return [list, refresh];
}

function formatServers(servers: readonly McpServerStatus[]): string {
  if (servers.length === 0) return "There are no MCP servers.";
  const lines = servers.flatMap((server) => {
    const { name, state, reason, toolCount, leftOut = [] } = server;
    if (reason !== "") return [`${name} - ${state}: ${reason}`];
    const tools = `${toolCount} ${toolCount === 1 ? "tool" : "tools"}`;
    return [
      `${name} - ${state}, ${tools}`,
      ...leftOut.map((text) => `  ${text}`),
    ];
  });
  return lines.join("\n");
}
