import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { quoteInexactNumbers } from "@devtool/internal/exact-json";
import { decodeRfcJson, parseJson } from "@devtool/schema";
import { ErrorResponseSchema } from "@devtool/schema/gemini-cli";
import type { EndpointOptions } from "../a2a/endpoint.ts";
import { JsonRpcEndpoint } from "../a2a/json-rpc-endpoint.ts";
import { readText } from "../a2a/response-text.ts";
import { wellFormed } from "../a2a/wire.ts";
import { fetchWithToken } from "../bearer-token.ts";

/**
 * A server that speaks the dialect: JSON-RPC for tasks, and plain HTTP requests
 * for the rest.
 */
export class GeminiCliEndpoint {
  readonly rpc: JsonRpcEndpoint;
  readonly #options: EndpointOptions;

  readonly onLeftOut: EndpointOptions["onLeftOut"];

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.onLeftOut = options.onLeftOut;
    // No extension header: on a server that has both, it would activate our own
    // extension.
    this.rpc = new JsonRpcEndpoint(options, {});
  }

  /**
   * Gets JSON from a path. Returns undefined for HTTP 204 and throws a
   * `ConnectError` for a failure.
   */
  async get(path: string, signal: AbortSignal): Promise<JsonValue | undefined> {
    const response = await this.request(path, { signal });
    if (!response.ok) throw await errorFromResponse(response);
    return response.status === 204
      ? undefined
      : wellFormed(parseJson(quoteInexactNumbers(await readText(response))));
  }

  /**
   * Sends a request to a path below the server's address. Throws a
   * `ConnectError` if the connection fails.
   */
  async request(path: string, init: RequestInit): Promise<Response> {
    const { url, token = "", fetch = globalThis.fetch } = this.#options;
    return fetchWithToken(token, async (bearer) => {
      const headers = new Headers(init.headers);
      for (const [name, value] of Object.entries(bearer)) {
        headers.set(name, value);
      }
      return await fetch(new URL(path, url), { ...init, headers }).catch(
        (reason: unknown) => {
          throw lostTurnError(reason);
        },
      );
    });
  }
}

/**
 * Converts an error response to a plain HTTP request.
 */
export async function errorFromResponse(
  response: Response,
): Promise<ConnectError> {
  return new ConnectError(
    await readErrorMessage(response),
    HTTP_CODES[response.status] ?? Code.Unknown,
  );
}

const HTTP_CODES: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  409: Code.FailedPrecondition,
  501: Code.Unimplemented,
};

/**
 * Reads the message of an error response: its `error` field, otherwise its body
 * or status.
 */
export async function readErrorMessage(response: Response): Promise<string> {
  const text = await readText(response);
  try {
    return decodeRfcJson(ErrorResponseSchema, JSON.parse(text)).error || text;
  } catch {
    return text || `HTTP ${response.status}`;
  }
}

/**
 * Converts the error of a broken connection so that it is not retried.
 *
 * The server has stopped the turn, takes a repeated message for a new one, and
 * does not replay events. Only a refused connection is worth a retry, because
 * nothing was sent.
 */
export function lostTurnError(reason: unknown): ConnectError {
  const error = ConnectError.from(reason);
  if (error.code === Code.Canceled || isConnectionRefused(reason)) return error;
  if (error.code !== Code.Unavailable && error.code !== Code.Unknown) {
    return error;
  }
  const message =
    "the connection was lost and the server stopped the turn: send a message to continue";
  return new ConnectError(
    message,
    Code.FailedPrecondition,
    undefined,
    undefined,
    reason,
  );
}

function isConnectionRefused(reason: unknown): boolean {
  if (!(reason instanceof Error)) return false;
  return (
    ("code" in reason && reason.code === "ECONNREFUSED") ||
    isConnectionRefused(reason.cause)
  );
}
