import { type BearerToken, fetchWithToken } from "../bearer-token.ts";
import { waitFor } from "./wire.ts";

/**
 * The address of an agent, and how to call it.
 */
export interface EndpointOptions {
  /**
   * The URL of one of the agent's interfaces.
   */
  readonly url: string;
  /**
   * The bearer token to send.
   *
   * Default: none.
   */
  readonly token?: BearerToken;
  /**
   * The function that makes the HTTP requests.
   *
   * Default: the global `fetch`.
   */
  readonly fetch?: typeof globalThis.fetch;
  /**
   * Called for each element of an answer that cannot be used and is left out, if
   * the answer has no place to say so: of a list of slash commands or push
   * configs, and interfaces of a card. Tasks and their lists say so themselves.
   *
   * Default: not reported.
   */
  readonly onLeftOut?: (why: string) => void;
}

/**
 * Whether the development-tool extension is used with an agent. Only an agent
 * that has the extension is asked for it.
 */
export type ExtensionUse = "active" | "none";

/**
 * The headers that are sent with every call, beside the token: version and
 * extension.
 */
export type CallHeaders = Readonly<Record<string, string>>;

/**
 * Sends a request to an agent. Throws a `ConnectError` as `waitFor` does.
 */
export function sendRequest(
  { url, token = "", fetch = globalThis.fetch }: EndpointOptions,
  {
    headers,
    ...init
  }: Pick<RequestInit, "method" | "body"> & { readonly headers: CallHeaders },
  signal: AbortSignal,
): Promise<Response> {
  return fetchWithToken(token, (bearer) =>
    waitFor(
      fetch(url, { ...init, headers: { ...bearer, ...headers }, signal }),
      signal,
    ),
  );
}
