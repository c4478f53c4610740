import type { JsonValue } from "@bufbuild/protobuf";
import { parseJson, WireError } from "@devtool/schema";
import { decodeJsonRpcRequest, JsonRpcCode } from "@devtool/schema/a2a-v03";
import { isObject } from "@devtool/schema/json";

/** The paths that JSON-RPC is served at. */
export const JSON_RPC_PATHS: ReadonlySet<string> = new Set(["/", "/a2a", "/a2a/"]);

/** A failure that has a code of JSON-RPC or A2A and no other. */
export class JsonRpcFailure extends Error {
  override readonly name: string = "JsonRpcFailure";

  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message);
  }
}

/** A JSON-RPC request that can be answered. */
export interface RpcRequest {
  readonly method: string;
  readonly params: JsonValue | undefined;
  /** Whether it has an id; one without is a notification, which A2A does not have. */
  readonly hasId: boolean;
}

/** Parses a body. Throws a `JsonRpcFailure`: a parse error when it is not valid JSON, an invalid request past a limit. */
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

/** Reads a request. Throws a `JsonRpcFailure` when it is not one. */
export function readRequest(json: JsonValue): RpcRequest {
  try {
    const { method } = decodeJsonRpcRequest(json);
    const { id, params } = isObject(json) ? json : {};
    return { method, params, hasId: id !== undefined };
  } catch (reason) {
    if (!(reason instanceof WireError)) throw reason;
    throw new JsonRpcFailure(reason.message, JsonRpcCode.INVALID_REQUEST);
  }
}

/** Throws for a request without an id, once its method is known to exist: A2A answers everything. */
export function assertHasId({ hasId }: Pick<RpcRequest, "hasId">): void {
  if (hasId) return;
  throw new JsonRpcFailure("id is missing: a request needs one to be answered", JsonRpcCode.INVALID_REQUEST);
}

/** The text of a response that holds a result, whose own text was made before. */
export function resultText(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
}

/** The text of a response that holds an error. */
export function errorText(id: string, error: JsonValue): string {
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`;
}
