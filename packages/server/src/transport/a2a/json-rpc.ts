import type { JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { assertExactJson, parseJson, WireError } from "@devtool/schema";
import { decodeJsonRpcRequest, JsonRpcCode } from "@devtool/schema/a2a-v03";

/** A failure with an error code of JSON-RPC or A2A that no `Code` maps to. */
export class JsonRpcFailure extends Error {
  override readonly name: string = "JsonRpcFailure";

  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message);
  }
}

/** A valid JSON-RPC request, without its id. */
export interface RpcRequest {
  readonly method: string;
  readonly params: JsonValue | undefined;
  /**
   * Whether the request has an id.
   *
   * A request without one is a notification, which A2A does not use.
   */
  readonly hasId: boolean;
}

/**
 * Parses a request body.
 *
 * Throws a `JsonRpcFailure`: a parse error for text that is not JSON, an
 * invalid request for JSON beyond a limit.
 */
export function parseBody(text: string): JsonValue {
  try {
    const json = parseJson(text);
    assertExactJson(text);
    return json;
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    const code =
      reason.cause === undefined
        ? JsonRpcCode.INVALID_REQUEST
        : JsonRpcCode.PARSE_ERROR;
    throw new JsonRpcFailure(reason.message, code);
  }
}

/**
 * Returns the id of a request as JSON text; `null` for a request without a
 * string or number as id.
 */
export function idText(json: JsonValue): string {
  const id = isObject(json) ? json.id : undefined;
  return typeof id === "string" || typeof id === "number"
    ? JSON.stringify(id)
    : "null";
}

/**
 * Reads a request. Throws a `JsonRpcFailure` for JSON that is not a JSON-RPC
 * request.
 */
export function readRequest(json: JsonValue): RpcRequest {
  try {
    const { method, id, params } = decodeJsonRpcRequest(json);
    return { method, params: params ?? undefined, hasId: id !== undefined };
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    throw new JsonRpcFailure(reason.message, JsonRpcCode.INVALID_REQUEST);
  }
}

/**
 * Throws for a request without an id, which A2A could not answer.
 *
 * Call it once the method is known to exist: an unknown method is the more
 * helpful error.
 */
export function assertHasId({ hasId }: Pick<RpcRequest, "hasId">): void {
  if (hasId) return;
  throw new JsonRpcFailure(
    "id is missing: a request needs one to be answered",
    JsonRpcCode.INVALID_REQUEST,
  );
}

/**
 * Returns the text of a successful response.
 *
 * `id` and `result` are JSON texts: a result is encoded once for all its
 * readers.
 */
export function resultText(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** Returns the text of an error response. `id` is JSON text. */
export function errorText(id: string, error: JsonValue): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`;
}
