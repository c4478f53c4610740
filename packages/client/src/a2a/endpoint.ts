import { waitFor } from "./peer.ts";

/** Where an agent is called, and how. */
export interface EndpointOptions {
  /** The address of one of its interfaces. */
  readonly url: string;
  /** Sent as bearer token. Default: none. */
  readonly token?: string;
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Sends a request to an agent. Throws what `waitFor` throws. */
export function request(
  { url, token, fetch = globalThis.fetch }: EndpointOptions,
  { headers, ...init }: Pick<RequestInit, "method" | "body"> & { readonly headers: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<Response> {
  return waitFor(fetch(url, { ...init, headers: { ...bearerHeader(token), ...headers }, signal }), signal);
}

/** What sends a token; nothing without one. */
export function bearerHeader(token = ""): Record<string, string> {
  return token === "" ? {} : { authorization: `Bearer ${token}` };
}
