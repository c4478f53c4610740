import type { JsonObject } from "@bufbuild/protobuf";
import type { DevtoolServer } from "@devtool/server";

/** The capabilities of a host that takes tasks and asks its user. */
export const TASK_HOST = {
  elicitation: { form: {} },
  extensions: { "io.modelcontextprotocol/tasks": {} },
};

/** A request of revision 2026-07-28, as a host without an SDK sends it. */
export interface ModernRequest {
  readonly method: string;
  readonly params?: JsonObject;
  readonly capabilities?: JsonObject;
  /** Headers in place of the right ones; undefined leaves one out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly path?: string;
}

/** Sends a request, and returns its answer as it begins. */
export async function openModern(
  { url, token }: Pick<DevtoolServer, "url" | "token">,
  {
    method,
    params = {},
    capabilities = TASK_HOST,
    headers = {},
    path = "/mcp",
  }: ModernRequest,
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: "POST",
    ...(signal && { signal }),
    headers: Object.entries({
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${token}`,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": nameOf(params),
      ...headers,
    }).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, value]],
    ),
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method,
      params: {
        ...params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
          "io.modelcontextprotocol/clientCapabilities": capabilities,
        },
      },
    }),
  });
}

/** Sends a request, and returns the JSON of its answer. */
export async function modernRequest(
  server: Pick<DevtoolServer, "url" | "token">,
  request: ModernRequest,
): Promise<{ readonly status: number; readonly answer: ModernAnswer }> {
  const response = await openModern(server, request);
  const body = await response.text();
  const text = body.startsWith("{")
    ? body
    : (/^data: (\{"jsonrpc".*"id".*)$/m.exec(body)?.[1] ?? "{}");
  return { status: response.status, answer: JSON.parse(text) };
}

/** The answer to a request. */
export interface ModernAnswer {
  // biome-ignore lint/suspicious/noExplicitAny: tests read JSON of any form
  readonly result?: any;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: unknown;
  };
}

function nameOf({ name, uri, taskId }: JsonObject): string | undefined {
  const named = name ?? uri ?? taskId;
  return typeof named === "string" ? named : undefined;
}
