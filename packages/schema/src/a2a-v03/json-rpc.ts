import type { JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { quote, WireError } from "../wire-error.ts";

/**
 * Error codes of JSON-RPC 2.0 and A2A 0.3 (section 8), and two of our own in
 * the range for implementations.
 */
export const JsonRpcCode = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  PUSH_NOTIFICATION_NOT_SUPPORTED: -32003,
  UNSUPPORTED_OPERATION: -32004,
  CONTENT_TYPE_NOT_SUPPORTED: -32005,
  INVALID_AGENT_RESPONSE: -32006,
  AUTHENTICATED_EXTENDED_CARD_NOT_CONFIGURED: -32007,
  /** The server lacks resources, for example space on its disk (ERR-2). */
  RESOURCE_EXHAUSTED: -32050,
  /** Another message with the same id was sent before (STREAM-7). */
  ALREADY_EXISTS: -32051,
  /** The server cannot answer now, and can later (ERR-2). */
  UNAVAILABLE: -32052,
} as const;

/**
 * Reads the envelope of a JSON-RPC request; `id` is undefined for a
 * notification. Throws a `WireError` if it is invalid. Does not check `params`.
 */
export function decodeJsonRpcRequest(json: unknown): {
  readonly method: string;
  readonly id: JsonValue | undefined;
  readonly params: JsonValue | undefined;
} {
  if (Array.isArray(json)) {
    throw new WireError(
      "",
      "",
      "a batch is not supported: send one request at a time",
    );
  }
  if (!isObject(json)) {
    throw new WireError("", "", "a request is a JSON object");
  }
  const { jsonrpc, method, id, params } = json;
  if (jsonrpc !== "2.0") {
    throw new WireError("jsonrpc", quote(jsonrpc), 'must be "2.0"');
  }
  if (typeof method !== "string" || method === "") {
    throw new WireError("method", quote(method), "must be a string");
  }
  if (typeof id === "object" && id !== null) {
    throw new WireError("id", quote(id), "must be a string, a number or null");
  }
  if (typeof id === "boolean") {
    throw new WireError("id", quote(id), "must be a string, a number or null");
  }
  return { method, id, params };
}
