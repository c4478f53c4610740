import type { Address } from "./client-of.ts";

type Headers = Readonly<Record<string, string>>;

/**
 * Posts JSON to a path of a server with its token, as a client without a
 * library does. A text is sent as it is.
 */
export function postJson(
  { url, token }: Address,
  path: string,
  body: unknown,
  headers: Headers = {},
): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      ...headers,
    },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

/** Calls a method of A2A over JSON-RPC: of A2A 0.3 without other headers. */
export function callRpc(
  server: Address,
  method: string,
  params: unknown,
  headers?: Headers,
): Promise<Response> {
  const call = { jsonrpc: "2.0", id: 1, method, params };
  return postJson(server, "", call, headers);
}
