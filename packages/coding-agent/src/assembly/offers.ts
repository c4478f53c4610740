import type { Task } from "@devtool/schema";
import type { AgentOffers } from "@devtool/server/agent";
import type { McpServerStatus } from "../tool/mcp.ts";
import type { Tool } from "../tool/tool.ts";
import type { AgentHost } from "./host.ts";
import { createToolbox } from "./task-agent.ts";
import { mcpSessionOf } from "./toolbox.ts";

/** How clients see the state of an MCP server. */
const STATUS: Readonly<
  Record<McpServerStatus["state"], AgentOffers["mcpServers"][number]["status"]>
> = {
  ready: "connected",
  connecting: "connecting",
  idle: "disconnected",
  failed: "disconnected",
  stopped: "disconnected",
};

/**
 * Lists the tools and MCP servers of a task. Connects to the servers, as a turn
 * of the task does.
 */
export async function listOffers(
  host: AgentHost,
  task: Task,
  signal: AbortSignal,
): Promise<AgentOffers> {
  await using toolbox = createToolbox(host, task);
  await using toolSet = await toolbox.open(task, [], signal);
  const tools = [...toolSet.tools.values()];
  const servers = (await host.mcp?.status(mcpSessionOf(task), signal)) ?? [];
  return {
    tools: tools.map(offeredTool),
    mcpServers: servers.map(({ name, state }) => {
      const own = tools.filter(({ facts }) => facts?.mcpServer === name);
      return { name, status: STATUS[state], tools: own.map(offeredTool) };
    }),
  };
}

function offeredTool({ declaration }: Tool): AgentOffers["tools"][number] {
  const { name, description, parameters } = declaration;
  return { name, description, parameters };
}
