import type { McpServerStatus } from "../../tool/mcp.ts";
import type { McpStatus } from "../services.ts";
import type { SlashCommand } from "../slash-command.ts";
import { saying } from "../steps.ts";

/** `/mcp list` and `/mcp refresh`: the MCP servers of the workspace. */
export function mcpCommands(mcp: McpStatus): SlashCommand[] {
  const list: SlashCommand = {
    path: ["mcp", "list"],
    group: "Shows the MCP servers whose tools the agent has, and connects to them anew",
    description: "Lists the MCP servers, their state and how many tools they have",
    arguments: [],
    play: (_args, context) => saying(async (_request, signal) => statusText(await mcp.list(context, signal))),
  };
  const refresh: SlashCommand = {
    path: ["mcp", "refresh"],
    description: "Connects anew to MCP servers that are not connected and reads the tools of all",
    arguments: [],
    play: (_args, context) =>
      saying(async (_request, signal) => {
        await mcp.refresh(context, signal);
        return statusText(await mcp.list(context, signal));
      }),
  };
  return [list, refresh];
}

function statusText(servers: readonly McpServerStatus[]): string {
  if (servers.length === 0) return "There are no MCP servers.";
  return servers.map(serverLine).join("\n");
}

function serverLine({ name, state, reason, toolCount }: McpServerStatus): string {
  const tools = `${toolCount} ${toolCount === 1 ? "tool" : "tools"}`;
  return reason === "" ? `${name} - ${state}, ${tools}` : `${name} - ${state}: ${reason}`;
}
