import { create, equals } from "@bufbuild/protobuf";
import {
  McpConnectionState,
  NoticeSchema,
  type SessionTools,
  SessionToolsSchema,
  type Task,
} from "@devtool/schema";
import { type AgentEvent, quoted } from "@devtool/server/agent";
import type { McpServerStatus } from "../tool/mcp.ts";
import type { AgentHost } from "./host.ts";
import { mcpSessionOf } from "./toolbox.ts";

/** The maximum number of tools that the log names. */
const MAX_TOOLS = 1000;

/** How clients see the state of a server that a turn has asked for. */
const STATES: Readonly<Record<McpServerStatus["state"], McpConnectionState>> = {
  ready: McpConnectionState.READY,
  connecting: McpConnectionState.CONNECTING,
  idle: McpConnectionState.CONNECTING,
  failed: McpConnectionState.FAILED,
  stopped: McpConnectionState.FAILED,
};

/**
 * Returns the events that say what a session can use, with a notice for each
 * allowed tool that does not exist and each MCP server of the client that
 * cannot be used.
 *
 * None for a session that neither limits its tools nor brings servers, and when
 * the task says it already.
 */
export async function sessionToolsEvents(
  host: AgentHost,
  task: Task,
  toolNames: readonly string[],
  signal: AbortSignal,
): Promise<readonly AgentEvent[]> {
  const { allowedTools = [], mcpServers = [] } = task.sessionSettings ?? {};
  if (allowedTools.length + mcpServers.length === 0) return [];
  const statuses =
    (await host.mcp?.currentStatus(mcpSessionOf(task), signal)) ?? [];
  const value = create(SessionToolsSchema, {
    tools: toolNames.slice(0, MAX_TOOLS),
    mcpServers: statuses.map(({ state, leftOut: _texts, ...status }) => ({
      ...status,
      state: STATES[state],
    })),
  });
  const { sessionTools } = task;
  if (sessionTools && equals(SessionToolsSchema, sessionTools, value)) {
    return [];
  }
  const brought = new Set(mcpServers.map(({ name }) => name));
  const texts = [
    ...allowedTools
      .filter((name) => !toolNames.includes(name))
      .map(
        (name) => `allowed_tools ${quoted(name)}: there is no such tool now`,
      ),
    ...serverNotices(value, brought),
    ...statuses.flatMap(({ name, leftOut = [] }) =>
      brought.has(name) && leftOut.length > 0
        ? [`MCP server ${quoted(name)}: ${leftOut.join("; ")}`]
        : [],
    ),
  ];
  return [
    { case: "sessionTools", value },
    ...texts.map((text) => ({
      case: "notice" as const,
      value: create(NoticeSchema, { text }),
    })),
  ];
}

/** Returns a notice for each server of a client that the turn goes without. */
function serverNotices(
  { mcpServers }: SessionTools,
  brought: ReadonlySet<string>,
): readonly string[] {
  return mcpServers.flatMap(({ name, state, reason }) => {
    if (!brought.has(name) || state === McpConnectionState.READY) return [];
    const why = reason || `MCP server ${quoted(name)}: it is not ready yet`;
    return [`${why}. The agent goes on without its tools.`];
  });
}
