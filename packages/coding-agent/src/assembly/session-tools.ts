import { create, equals } from "@bufbuild/protobuf";
import { keepStart } from "@devtool/internal/cut-text";
import {
  McpConnectionState,
  NoticeSchema,
  type SessionTools,
  SessionToolsSchema,
  type Task,
} from "@devtool/schema";
import { type AgentEvent, quoted } from "@devtool/server/agent";
import type { McpServerStatus, McpSession } from "../tool/mcp.ts";
import type { AgentHost } from "./host.ts";
import { mcpSessionOf } from "./toolbox.ts";

/** The maximum number of tools that the log names. */
const MAX_TOOLS = 1000;

/** The maximum length of a notice about what is left out, in characters. */
const MAX_NOTICE_LENGTH = 500;

/** The number of notices that are remembered, so that none is repeated. */
const MAX_TOLD = 1000;

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
 * cannot be used. None for a session that neither limits its tools nor brings
 * servers, and when the task says it already.
 *
 * What the lists of the operator's servers hold that cannot be used is told
 * once to each session.
 */
export async function sessionToolsEvents(
  host: AgentHost,
  task: Task,
  toolNames: readonly string[],
  signal: AbortSignal,
): Promise<readonly AgentEvent[]> {
  const { allowedTools = [], mcpServers = [] } = task.sessionSettings ?? {};
  const session = mcpSessionOf(task);
  const statuses = (await host.mcp?.currentStatus(session, signal)) ?? [];
  if (statuses.length + allowedTools.length + mcpServers.length === 0) {
    return [];
  }
  const brought = new Set(mcpServers.map(({ name }) => name));
  const leftOut = Map.groupBy(statuses.flatMap(leftOutText), ({ name }) =>
    brought.has(name) ? "client" : "operator",
  );
  const news = newTexts(host.toldLeftOut, session, leftOut.get("operator"));
  if (allowedTools.length + mcpServers.length === 0) return news.map(notice);
  const value = create(SessionToolsSchema, {
    tools: toolNames.slice(0, MAX_TOOLS),
    mcpServers: statuses.map(({ name, state, reason, toolCount }) => ({
      name,
      reason,
      toolCount,
      state: STATES[state],
    })),
  });
  const { sessionTools } = task;
  if (sessionTools && equals(SessionToolsSchema, sessionTools, value)) {
    return news.map(notice);
  }
  const texts = [
    ...allowedTools
      .filter((name) => !toolNames.includes(name))
      .map(
        (name) => `allowed_tools ${quoted(name)}: there is no such tool now`,
      ),
    ...serverNotices(value, brought),
    ...(leftOut.get("client") ?? []).map(({ text }) => text),
    ...news,
  ];
  return [{ case: "sessionTools", value }, ...texts.map(notice)];
}

function notice(text: string): AgentEvent {
  return { case: "notice", value: create(NoticeSchema, { text }) };
}

/** What the lists of a server hold that cannot be used, as a notice. */
interface LeftOutText {
  /** The name of the server. */
  readonly name: string;
  readonly text: string;
}

function leftOutText({ name, leftOut = [] }: McpServerStatus): LeftOutText[] {
  if (leftOut.length === 0) return [];
  const text = `MCP server ${quoted(name)}: ${leftOut.join("; ")}`;
  return [
    {
      name,
      text:
        text.length <= MAX_NOTICE_LENGTH
          ? text
          : `${keepStart(text, MAX_NOTICE_LENGTH)} … (/mcp list shows all)`,
    },
  ];
}

/** Returns the texts that a session was not told yet, and notes them in `told`. */
function newTexts(
  told: Set<string>,
  session: McpSession,
  texts: readonly LeftOutText[] = [],
): readonly string[] {
  return texts.flatMap(({ text }) => {
    const { principal, workspacePath, clientServers } = session;
    const names = clientServers.map(({ name }) => name);
    const key = JSON.stringify([principal, workspacePath, names, text]);
    if (told.has(key)) return [];
    if (told.size >= MAX_TOLD) told.clear();
    told.add(key);
    return [text];
  });
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
