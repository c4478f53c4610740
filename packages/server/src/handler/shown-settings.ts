import type { McpHttp, McpServer, SessionSettings, Task, TaskEvent } from "@devtool/schema";

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
