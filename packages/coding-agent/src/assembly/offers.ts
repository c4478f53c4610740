import type { Task } from "@devtool/schema";
import type { AgentOffers, OfferedMcpServer, OfferedTool } from "@devtool/server/agent";
import type { McpServerStatus } from "../tool/mcp.ts";
import type { Tool } from "../tool/tool.ts";
import type { AgentHost } from "./host.ts";
import { createToolbox } from "./task-agent.ts";
import { mcpSessionOf } from "./toolbox.ts";

/** Lists the tools of a task and its MCP servers, which are connected to as for a turn of it. */
export async function listOffers(host: AgentHost, task: Task, signal: AbortSignal): Promise<AgentOffers> {
  await using toolbox = createToolbox(host, task);
  await using opened = await toolbox.open(task, [], signal);
  const tools = [...opened.tools.values()];
  const servers = (await host.mcp?.status(mcpSessionOf(task), signal)) ?? [];
  return { tools: tools.map(offeredTool), mcpServers: servers.map((server) => offeredServer(server, tools)) };
}

function offeredTool({ declaration }: Tool): OfferedTool {
  const { name, description, parameters } = declaration;
  return { name, description, parameters };
}

function offeredServer({ name, state }: McpServerStatus, tools: readonly Tool[]): OfferedMcpServer {
  const own = tools.filter(({ facts }) => facts?.mcpServer === name);
  return { name, status: STATUS[state], tools: own.map(offeredTool) };
}

const STATUS: Readonly<Record<McpServerStatus["state"], OfferedMcpServer["status"]>> = {
  ready: "connected",
  connecting: "connecting",
  idle: "disconnected",
  failed: "disconnected",
  stopped: "disconnected",
};
