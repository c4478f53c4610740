import { equals } from "@bufbuild/protobuf";
import { type McpServer, McpServerSchema, type Task } from "@devtool/schema";
import { invalid } from "../errors.ts";

/**
 * The maximum number of MCP servers that a session has from its clients: each
 * may be a process, and is connected while the session is used.
 */
const MAX_SERVERS = 32;

/** The session to which MCP servers are added, with the messages that wait. */
type Session = Pick<Task, "sessionSettings"> &
  Partial<Pick<Task, "queuedMessages">>;

/**
 * Returns the MCP servers of a request that its session does not have
 * (SESSION-4); an empty one stands for a new session. Throws
 * `Code.InvalidArgument` for another server with the name of one that the
 * session has, or will have when its queued messages are taken, and for more
 * servers than a session can have.
 */
export function addedServers(
  requested: readonly McpServer[],
  { sessionSettings, queuedMessages = [] }: Session,
): McpServer[] {
  if (requested.length === 0) return [];
  const present = sessionSettings?.mcpServers ?? [];
  const waiting = queuedMessages.flatMap(
    ({ message }) => message?.mcpServers ?? [],
  );
  for (const server of requested) {
    const other = [...present, ...waiting].find(
      ({ name }) => name === server.name,
    );
    if (!other || equals(McpServerSchema, other, server)) continue;
    throw invalid(
      "mcp_servers",
      server.name,
      "differs from the server of that name that this session has",
      "choose another name, or start a new context",
    );
  }
  const names = new Set(present.map(({ name }) => name));
  const added = requested.filter(({ name }) => !names.has(name));
  for (const { name } of waiting) names.add(name);
  for (const { name } of added) {
    if (names.add(name).size <= MAX_SERVERS) continue;
    throw invalid(
      "mcp_servers",
      name,
      `is more than the ${MAX_SERVERS} MCP servers that clients may bring to a session`,
      "leave it out, or start a new context with the servers that are needed",
    );
  }
  return added;
}
