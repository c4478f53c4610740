import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { decodeRfcJson, parseJson } from "@devtool/schema";
import { ErrorResponseSchema } from "@devtool/schema/gemini-cli";
import type { EndpointOptions } from "../a2a/endpoint.ts";
import { JsonRpcEndpoint } from "../a2a/json-rpc-endpoint.ts";
import { fetchWithToken } from "../bearer-token.ts";

/** Where a server is that speaks the dialect, and how it is asked: JSON-RPC, and plain HTTP beside it. */
export class GeminiCliEndpoint {
  readonly rpc: JsonRpcEndpoint;
  readonly #options: EndpointOptions;

  constructor(options: EndpointOptions) {
    this.#options = options;
    // Without the header that would activate our own extension on a server that has both.
    this.rpc = new JsonRpcEndpoint(options, {});
  }

  /** Asks for JSON. Undefined when there is nothing to say; throws a `ConnectError`. */
  async get(path: string, signal: AbortSignal): Promise<JsonValue | undefined> {
    const response = await this.request(path, { signal });
    if (!response.ok) throw await failureOf(response);
    return response.status === 204 ? undefined : parseJson(await response.text());
  }

  /** Sends a request to a path below the server's address. Throws a `ConnectError` when it does not get there. */
  async request(path: string, init: RequestInit): Promise<Response> {
    const { url, token = "", fetch = globalThis.fetch } = this.#options;
    return fetchWithToken(token, async (bearer) => {
      const headers = new Headers(init.headers);
      for (const [name, value] of Object.entries(bearer)) headers.set(name, value);
      return await fetch(new URL(path, url), { ...init, headers }).catch((reason: unknown) => {
        throw turnLost(reason);
      });
    });
  }
}

/** The error that a plain response is. */
export async function failureOf(response: Response): Promise<ConnectError> {
  return new ConnectError(await reasonOf(response), CODES[response.status] ?? Code.Unknown);
}

const CODES: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  409: Code.FailedPrecondition,
  501: Code.Unimplemented,
};

/** What a response that is an error says. */
export async function reasonOf(response: Response): Promise<string> {
  const text = await response.text();
  try {
    return decodeRfcJson(ErrorResponseSchema, JSON.parse(text)).error || text;
  } catch {
    return text || `HTTP ${response.status}`;
  }
}

/**
 * The error of a connection that broke. The peer has stopped the turn then, knows no retry from a new message and tells
 * nothing again: only a connection that was refused, before anything was sent, is worth another try.
 */
export function turnLost(reason: unknown): ConnectError {
  const error = ConnectError.from(reason);
  if (error.code === Code.Canceled || isRefused(reason)) return error;
  if (error.code !== Code.Unavailable && error.code !== Code.Unknown) return error;
  const message = "the connection was lost, and with it the turn: say what to do next";
  return new ConnectError(message, Code.FailedPrecondition, undefined, undefined, reason);
}

function isRefused(reason: unknown): boolean {
  if (!(reason instanceof Error)) return false;
  return ("code" in reason && reason.code === "ECONNREFUSED") || isRefused(reason.cause);
}
