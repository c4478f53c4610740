import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import {
  decodeRfcJson,
  type McpServer,
  McpServerSchema,
  type Message,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import { HIDDEN } from "../push/hide-push-secrets.ts";

/**
 * Returns an event for clients: without the secrets of the session's MCP
 * servers (S12). Returns the same object when there are none, so that cached
 * encodings of it stay valid.
 */
export function hideSecretsInEvent(event: TaskEvent): TaskEvent {
  const { payload } = event;
  if (payload.case !== "created") return event;
  const value = hideSecretsInTask(payload.value);
  return value === payload.value
    ? event
    : { ...event, payload: { case: "created", value } };
}

/**
 * Returns a task, or the creation of one, for clients: without the secrets of
 * the session's MCP servers (S12). Returns the same object when there are none.
 */
export function hideSecretsInTask<T extends Pick<Task, "sessionSettings">>(
  task: T,
): T {
  const { sessionSettings } = task;
  if (!sessionSettings || sessionSettings.mcpServers.length === 0) return task;
  const mcpServers = sessionSettings.mcpServers.map(hideServerSecrets);
  return { ...task, sessionSettings: { ...sessionSettings, mcpServers } };
}

/**
 * Returns a message to record. Its metadata is kept as it was sent, except for
 * the secrets of MCP servers, which only the session settings keep.
 */
export function hideSecretsInMessage(message: Message): Message {
  const { metadata } = message;
  if (!metadata) return message;
  const kept = Object.entries(metadata).map(
    ([uri, value]): [string, JsonValue] => {
      if (!isObject(value)) return [uri, value];
      const fields = Object.entries(value).map(
        ([name, item]): [string, JsonValue] =>
          SERVER_FIELDS.has(name) && Array.isArray(item)
            ? [name, item.map(hideServerJson)]
            : [name, item],
      );
      return [uri, Object.fromEntries(fields)];
    },
  );
  return { ...message, metadata: Object.fromEntries(kept) };
}

/**
 * The names of the field with MCP servers: in the RFC, and in lower camel case.
 */
const SERVER_FIELDS: ReadonlySet<string> = new Set([
  "mcp_servers",
  "mcpServers",
]);

function hideServerJson(json: JsonValue): JsonValue {
  try {
    return toJson(
      McpServerSchema,
      hideServerSecrets(decodeRfcJson(McpServerSchema, json)),
    );
  } catch {
    return HIDDEN;
  }
}

/**
 * Hides the environment of a command; of a URL, the headers and everything but
 * scheme, host and path.
 */
function hideServerSecrets(server: McpServer): McpServer {
  const { transport } = server;
  switch (transport.case) {
    case "stdio": {
      const value = {
        ...transport.value,
        env: hideValues(transport.value.env),
      };
      return { ...server, transport: { case: "stdio", value } };
    }
    case "http":
    case "sse": {
      const url = URL.parse(transport.value.url);
      const value = {
        ...transport.value,
        url:
          url === null ? HIDDEN : `${url.protocol}//${url.host}${url.pathname}`,
        headers: hideValues(transport.value.headers),
      };
      return { ...server, transport: { case: transport.case, value } };
    }
    case undefined:
      return server;
    default:
      return transport satisfies never;
  }
}

function hideValues(
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(Object.keys(values).map((name) => [name, HIDDEN]));
}
