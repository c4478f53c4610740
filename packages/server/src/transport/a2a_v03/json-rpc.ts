import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { parseJson, WireError } from "@devtool/schema";
import { decodeJsonRpcRequest, JsonRpcCode, type JsonRpcError, JsonRpcErrorSchema } from "@devtool/schema/a2a-v03";
import { JsonRpcFailure } from "./errors.ts";

/** A JSON-RPC request that can be answered. */
export interface RpcRequest {
  readonly method: string;
  readonly params: JsonValue | undefined;
}

/** Parses a body. Throws a `JsonRpcFailure`: a parse error when it is no JSON, an invalid request past a limit. */
export function parseBody(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    const code = reason.cause === undefined ? JsonRpcCode.INVALID_REQUEST : JsonRpcCode.PARSE_ERROR;
    throw new JsonRpcFailure(reason.message, code);
  }
}

/** The id of a request as JSON text, to be put into its response; `null` when it has none that may be repeated. */
export function idText(json: JsonValue): string {
  const id = isObject(json) ? json.id : undefined;
  return typeof id === "string" || typeof id === "number" ? JSON.stringify(id) : "null";
}

/** Reads a request. Throws a `JsonRpcFailure` when it is none, or a notification: A2A answers everything. */
export function readRequest(json: JsonValue): RpcRequest {
  try {
    const { method } = decodeJsonRpcRequest(json);
    const { id, params }: JsonObject = isObject(json) ? json : {};
    if (id === undefined) throw new WireError("id", "", "is missing: a request needs one to be answered");
    return { method, params };
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    throw new JsonRpcFailure(reason.message, JsonRpcCode.INVALID_REQUEST);
  }
}

/** The text of a response that holds a result, whose own text was made before. */
export function resultText(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** The text of a response that holds an error. */
export function errorText(id: string, error: JsonRpcError): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(toJson(JsonRpcErrorSchema, error))}}`;
}

function isObject(json: JsonValue): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
