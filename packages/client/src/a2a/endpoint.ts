import { type BearerToken, fetchWithToken } from "../bearer-token.ts";
import { waitFor } from "./peer.ts";

/** Where an agent is called, and how. */
export interface EndpointOptions {
  /** The address of one of its interfaces. */
  readonly url: string;
  /** Sent as bearer token. Default: none. */
  readonly token?: BearerToken;
  /** Default: the global fetch. */
  readonly fetch?: typeof globalThis.fetch;
}

/** Sends a request to an agent. Throws what `waitFor` throws. */
export function request(
  { url, token = "", fetch = globalThis.fetch }: EndpointOptions,
  { headers, ...init }: Pick<RequestInit, "method" | "body"> & { readonly headers: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<Response> {
  return fetchWithToken(token, (bearer) =>
    waitFor(fetch(url, { ...init, headers: { ...bearer, ...headers }, signal }), signal),
  );
}
