import { type JsonValue, toJson } from "@bufbuild/protobuf";
import {
  decodeRfcJson,
  type McpHttp,
  type McpServer,
  McpServerSchema,
  type Message,
  type SessionSettings,
  type Task,
  type TaskEvent,
} from "@devtool/schema";

/** What stands in place of a secret. */
const HIDDEN = "[hidden]";

/** An event as clients may see it: the secrets that a session's MCP servers are reached with are not told again (S12). */
export function shownEvent(event: TaskEvent): TaskEvent {
  const { payload } = event;
  if (payload.case !== "created" || !hasServers(payload.value)) return event;
  return { ...event, payload: { case: "created", value: withShownSettings(payload.value) } };
}

/** A task as clients may see it, like its events. */
export function shownTask(task: Task): Task {
  return hasServers(task) ? withShownSettings(task) : task;
}

/**
 * A message as it is kept: what its sender put beside it comes back as it was sent, except the secrets of MCP servers,
 * which are kept in the settings of the session alone.
 */
export function keptMessage(message: Message): Message {
  const { metadata } = message;
  if (!metadata) return message;
  const kept = Object.entries(metadata).map(([uri, value]): [string, JsonValue] => [uri, withoutSecrets(value)]);
  return { ...message, metadata: Object.fromEntries(kept) };
}

function withoutSecrets(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([key, item]): [string, JsonValue] =>
    SERVERS.has(key) && Array.isArray(item) ? [key, item.map(shownServerJson)] : [key, item],
  );
  return Object.fromEntries(entries);
}

/** The field of the settings that lists MCP servers, in both of its spellings. */
const SERVERS: ReadonlySet<string> = new Set(["mcp_servers", "mcpServers"]);

function shownServerJson(json: JsonValue): JsonValue {
  try {
    return toJson(McpServerSchema, shownServer(decodeRfcJson(McpServerSchema, json)));
  } catch {
    return HIDDEN;
  }
}

interface WithSettings {
  readonly sessionSettings?: SessionSettings | undefined;
}

function hasServers({ sessionSettings }: WithSettings): boolean {
  return (sessionSettings?.mcpServers.length ?? 0) > 0;
}

function withShownSettings<T extends WithSettings>(value: T): T {
  const { sessionSettings } = value;
  if (!sessionSettings) return value;
  return { ...value, sessionSettings: { ...sessionSettings, mcpServers: sessionSettings.mcpServers.map(shownServer) } };
}

function shownServer(server: McpServer): McpServer {
  const { transport } = server;
  switch (transport.case) {
    case "stdio":
      return {
        ...server,
        transport: { case: "stdio", value: { ...transport.value, env: hiddenValues(transport.value.env) } },
      };
    case "http":
    case "sse":
      return { ...server, transport: { case: transport.case, value: shownHttp(transport.value) } };
    case undefined:
      return server;
    default:
      return transport satisfies never;
  }
}

/** Addresses may hold secrets too: in front of the host, and behind the path. */
function shownHttp({ url, headers, ...rest }: McpHttp): McpHttp {
  const address = URL.parse(url);
  const shown = address === null ? HIDDEN : `${address.protocol}//${address.host}${address.pathname}`;
  return { ...rest, url: shown, headers: hiddenValues(headers) };
}

function hiddenValues(values: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.keys(values).map((name) => [name, HIDDEN]));
}
