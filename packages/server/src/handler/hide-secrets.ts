import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import {
  decodeRfcJson,
  type McpServer,
  McpServerSchema,
  type Message,
  type QueuedMessage,
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
  switch (payload.case) {
    case "created": {
      const value = hideInSettings(payload.value);
      if (value === payload.value) return event;
      return { ...event, payload: { case: "created", value } };
    }
    case "message": {
      const value = hideInMessage(payload.value);
      if (value === payload.value) return event;
      return { ...event, payload: { case: "message", value } };
    }
    case "messageQueued": {
      const value = hideInQueued(payload.value);
      if (value === payload.value) return event;
      return { ...event, payload: { case: "messageQueued", value } };
    }
    default:
      return event;
  }
}

/**
 * Returns a task for clients: without the secrets of the session's MCP servers
 * (S12). Returns the same object when there are none.
 */
export function hideSecretsInTask(task: Task): Task {
  const hidden = hideInSettings(task);
  const queued = task.queuedMessages.map(hideInQueued);
  const isQueued = queued.some((each, at) => each !== task.queuedMessages[at]);
  // Servers that a message of the history has brought are in the settings.
  if (hidden === task && !isQueued) return task;
  const history = task.history.map(hideInMessage);
  return { ...hidden, history, queuedMessages: queued };
}

function hideInSettings<T extends Pick<Task, "sessionSettings">>(value: T): T {
  const { sessionSettings } = value;
  if (!sessionSettings || sessionSettings.mcpServers.length === 0) return value;
  const mcpServers = sessionSettings.mcpServers.map(hideServerSecrets);
  return { ...value, sessionSettings: { ...sessionSettings, mcpServers } };
}

function hideInQueued<T extends Pick<QueuedMessage, "message">>(queued: T): T {
  const message = queued.message && hideInMessage(queued.message);
  return message === queued.message ? queued : { ...queued, message };
}

function hideInMessage(message: Message): Message {
  if (message.mcpServers.length === 0) return message;
  return { ...message, mcpServers: message.mcpServers.map(hideServerSecrets) };
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
