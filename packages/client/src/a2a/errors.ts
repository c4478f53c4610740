import { type JsonObject, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorContextSchema } from "@devtool/schema";
import { JsonRpcCode, type JsonRpcError } from "@devtool/schema/a2a-v03";

const CODES: ReadonlyMap<number, Code> = new Map([
  [JsonRpcCode.PARSE_ERROR, Code.InvalidArgument],
  [JsonRpcCode.INVALID_REQUEST, Code.InvalidArgument],
  [JsonRpcCode.METHOD_NOT_FOUND, Code.Unimplemented],
  [JsonRpcCode.INVALID_PARAMS, Code.InvalidArgument],
  [JsonRpcCode.INTERNAL_ERROR, Code.Internal],
  [JsonRpcCode.TASK_NOT_FOUND, Code.NotFound],
  [JsonRpcCode.TASK_NOT_CANCELABLE, Code.FailedPrecondition],
  [JsonRpcCode.PUSH_NOTIFICATION_NOT_SUPPORTED, Code.Unimplemented],
  [JsonRpcCode.UNSUPPORTED_OPERATION, Code.FailedPrecondition],
  [JsonRpcCode.CONTENT_TYPE_NOT_SUPPORTED, Code.InvalidArgument],
]);

/** Turns an error of JSON-RPC or A2A into the one that Connect has for it. */
export function connectErrorFrom({ code, message, data }: JsonRpcError): ConnectError {
  const json = data ? toJson(ValueSchema, data) : null;
  const { field, value }: JsonObject = typeof json === "object" && !Array.isArray(json) ? (json ?? {}) : {};
  const named = typeof field === "string";
  const detail = { field: named ? field : "", value: typeof value === "string" ? value : "" };
  const details = named ? [{ desc: ErrorContextSchema, value: detail }] : [];
  return new ConnectError(message, CODES.get(code) ?? Code.Unknown, undefined, details);
}
