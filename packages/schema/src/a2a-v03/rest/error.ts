import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import {
  defined,
  isObject,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import {
  type JsonRpcError,
  JsonRpcErrorSchema,
} from "../../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { decodeRfcJson } from "../../rfc-json.ts";
import { JsonRpcCode } from "../json-rpc.ts";

/**
 * Writes an error as the body of a response.
 *
 * A2A 0.3 does not define its form. This is the error object of JSON-RPC, as
 * the JavaScript SDK has it, with the name of the error as `type`, which the
 * Python SDK reads.
 */
export function errorToRest({
  code,
  message,
  data,
}: JsonRpcError): JsonObject & { readonly code: number } {
  const type = ERROR_NAMES.get(code);
  return defined({
    code,
    message,
    type,
    data: data === undefined ? undefined : toJson(ValueSchema, data),
  });
}

/**
 * Reads an error from the body of a response and its HTTP status. Undefined if
 * it is not an error.
 *
 * The SDKs write different forms: the error object of JSON-RPC (JavaScript),
 * the name of the error as `type` or as a class in `error` (Java), or only a
 * message, which leaves the rest to the status (Python). Throws a `WireError`
 * for one past a limit.
 */
export function errorFromRest(
  json: JsonValue,
  status: number,
): JsonRpcError | undefined {
  const body = objectOrEmpty(json);
  const { code, message, type, data } = isObject(body.error)
    ? body.error
    : body;
  const given =
    Number.isInteger(code) && Number(code) < 0 ? Number(code) : undefined;
  if (typeof message !== "string" && given === undefined) return undefined;
  const name =
    (stringOrEmpty(type) || stringOrEmpty(body.error)).split(".").at(-1) ?? "";
  const errorCode = given ?? ERROR_CODES.get(name) ?? STATUS_CODES.get(status);
  if (errorCode === undefined) return undefined;
  const text = stringOrEmpty(message) || `error ${errorCode}`;
  return decodeRfcJson(
    JsonRpcErrorSchema,
    defined({ code: errorCode, message: text, data }),
  );
}

/** Names of the errors in the SDKs. */
const ERROR_NAMES: ReadonlyMap<number, string> = new Map([
  [JsonRpcCode.PARSE_ERROR, "JSONParseError"],
  [JsonRpcCode.INVALID_REQUEST, "InvalidRequestError"],
  [JsonRpcCode.METHOD_NOT_FOUND, "MethodNotFoundError"],
  [JsonRpcCode.INVALID_PARAMS, "InvalidParamsError"],
  [JsonRpcCode.INTERNAL_ERROR, "InternalError"],
  [JsonRpcCode.TASK_NOT_FOUND, "TaskNotFoundError"],
  [JsonRpcCode.TASK_NOT_CANCELABLE, "TaskNotCancelableError"],
  [
    JsonRpcCode.PUSH_NOTIFICATION_NOT_SUPPORTED,
    "PushNotificationNotSupportedError",
  ],
  [JsonRpcCode.UNSUPPORTED_OPERATION, "UnsupportedOperationError"],
  [JsonRpcCode.CONTENT_TYPE_NOT_SUPPORTED, "ContentTypeNotSupportedError"],
  [JsonRpcCode.INVALID_AGENT_RESPONSE, "InvalidAgentResponseError"],
  [JsonRpcCode.RESOURCE_EXHAUSTED, "ResourceExhaustedError"],
  [JsonRpcCode.ALREADY_EXISTS, "AlreadyExistsError"],
]);

const ERROR_CODES: ReadonlyMap<string, number> = new Map(
  [...ERROR_NAMES].map(([code, name]) => [name, code]),
);

/**
 * Meaning of the HTTP status if the body has only a message. Statuses that a
 * gateway may set itself are not listed.
 */
const STATUS_CODES: ReadonlyMap<number, number> = new Map([
  [400, JsonRpcCode.INVALID_REQUEST],
  [404, JsonRpcCode.TASK_NOT_FOUND],
  [409, JsonRpcCode.TASK_NOT_CANCELABLE],
  [415, JsonRpcCode.CONTENT_TYPE_NOT_SUPPORTED],
  [422, JsonRpcCode.INVALID_PARAMS],
  [500, JsonRpcCode.INTERNAL_ERROR],
  [501, JsonRpcCode.UNSUPPORTED_OPERATION],
]);
