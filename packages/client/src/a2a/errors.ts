import {
  type DescMessage,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { keepStart } from "@devtool/internal/cut-text";
import {
  listOrEmpty,
  objectOrEmpty,
  parseJsonOrUndefined,
  stringOrEmpty,
} from "@devtool/internal/json";
import { snakeCase } from "@devtool/internal/snake-case";
import { decodeRfcJson, ErrorContextSchema } from "@devtool/schema";
import {
  type BadRequest,
  BadRequestSchema,
  type ErrorInfo,
  ErrorInfoSchema,
} from "@devtool/schema/a2a-v1";
import { errorFromRest, JsonRpcCode } from "@devtool/schema/a2a-v03";
import { decodeReadable } from "./decode-readable.ts";
import { decodeAnswer } from "./wire.ts";

/**
 * Converts an error of A2A over JSON-RPC. In 1.0 its data is a list of
 * `google.rpc` details; in 0.3 it names the field that is wrong.
 */
export function errorFromJsonRpc(
  code: number,
  message: string,
  data: JsonValue,
): ConnectError {
  const connectCode = JSON_RPC_CODES.get(code) ?? Code.Unknown;
  if (Array.isArray(data)) {
    return errorWithDetails(message, connectCode, readDetails(data));
  }
  const { field, value } = objectOrEmpty(data);
  if (typeof field !== "string") return new ConnectError(message, connectCode);
  const context = {
    desc: ErrorContextSchema,
    value: { field, value: stringOrEmpty(value) },
  };
  return new ConnectError(message, connectCode, undefined, [context]);
}

/**
 * Converts the body of an error of A2A 1.0 over HTTP+JSON, which has the form
 * of AIP-193. Returns undefined if the body is not an error.
 */
export function errorFromHttpJsonV1(json: JsonValue): ConnectError | undefined {
  const { error } = objectOrEmpty(json);
  const { status, message, details } = objectOrEmpty(error);
  const code = GRPC_STATUSES.get(stringOrEmpty(status));
  if (typeof message !== "string" && code === undefined) return undefined;
  const text = stringOrEmpty(message) || stringOrEmpty(status);
  return errorWithDetails(
    text,
    code ?? Code.Unknown,
    readDetails(listOrEmpty(details)),
  );
}

/**
 * Converts the body of an error of A2A 0.3 over HTTP+JSON. Returns undefined if
 * the body is not an error.
 *
 * A2A 0.3 leaves the form open, so the forms of its SDKs are read, and that of
 * 1.0, which a server that speaks both may write.
 */
export function errorFromHttpJsonV03(
  json: JsonValue,
  status: number,
): ConnectError | undefined {
  if (stringOrEmpty(objectOrEmpty(objectOrEmpty(json).error).status) !== "") {
    return errorFromHttpJsonV1(json);
  }
  // JSON-RPC has no codes for these; the HTTP status says more than the body.
  if (status === 401 || status === 403 || status === 503) {
    return errorFromHttpStatus(status, JSON.stringify(json));
  }
  const error = decodeAnswer(() => errorFromRest(json, status));
  if (!error) return undefined;
  const { code, message, data } = error;
  return errorFromJsonRpc(
    code,
    message,
    data ? toJson(ValueSchema, data) : null,
  );
}

/**
 * Gives an error of A2A over gRPC the code of the failure that its details
 * name.
 */
export function errorFromGrpc(reason: unknown): ConnectError {
  const error = ConnectError.from(reason);
  const details = {
    infos: error.findDetails(ErrorInfoSchema),
    requests: error.findDetails(BadRequestSchema),
  };
  return errorWithDetails(error.rawMessage, error.code, details, error);
}

/**
 * Converts an HTTP error whose body is not an A2A error. A proxy may have sent
 * it, so statuses that say the agent is down become `Code.Unavailable`, which
 * is retried.
 */
export function errorFromHttpStatus(
  status: number,
  body: string,
): ConnectError {
  const text = readErrorText(body);
  if (status === 401) {
    const message =
      body.trimStart().startsWith("{") && text !== ""
        ? text
        : "the bearer token is missing or wrong";
    return new ConnectError(message, Code.Unauthenticated);
  }
  const message = `the agent answered with HTTP ${status}${text === "" ? "" : `: ${text}`}`;
  return new ConnectError(
    message,
    HTTP_CODES.get(status) ??
      (status >= 500 ? Code.Unavailable : Code.InvalidArgument),
  );
}

/**
 * Returns the human-readable text of an error body: the message that its JSON
 * holds, otherwise the body itself, cut after 400 characters.
 */
export function readErrorText(body: string): string {
  const json = objectOrEmpty(parseJsonOrUndefined(body));
  const message =
    stringOrEmpty(json.error) ||
    stringOrEmpty(json.message) ||
    stringOrEmpty(objectOrEmpty(json.error).message);
  return keepStart((message || body.trim()).toWellFormed(), 400);
}

/**
 * The details of an error, as `google.rpc` defines them.
 */
interface ErrorDetails {
  readonly infos: readonly ErrorInfo[];
  readonly requests: readonly BadRequest[];
}

function readDetails(json: readonly JsonValue[]): ErrorDetails {
  return {
    infos: detailsOfType(ErrorInfoSchema, json),
    requests: detailsOfType(BadRequestSchema, json),
  };
}

/**
 * Returns the details of one type. What cannot be read of them is left
 * out.
 */
function detailsOfType<Desc extends DescMessage>(
  schema: Desc,
  details: readonly JsonValue[],
): MessageShape<Desc>[] {
  return details.map(objectOrEmpty).flatMap((detail) => {
    if (!stringOrEmpty(detail["@type"]).endsWith(`/${schema.typeName}`)) {
      return [];
    }
    const decode = (json: JsonValue): MessageShape<Desc> =>
      decodeRfcJson(schema, json);
    const { value } = decodeReadable(detail, decode);
    return value ? [value] : [];
  });
}

/**
 * Builds an error that carries the details as Connect has them. The failure
 * that they name decides the code, because A2A's own codes of JSON-RPC, HTTP
 * and gRPC are coarser.
 */
function errorWithDetails(
  message: string,
  code: Code,
  { infos, requests }: ErrorDetails,
  cause?: unknown,
): ConnectError {
  const named = infos.flatMap(
    ({ reason }) => FAILURE_CODES.get(reason) ?? [],
  )[0];
  const [violation] = requests.flatMap(
    ({ fieldViolations }) => fieldViolations,
  );
  const context = violation
    ? [{ desc: ErrorContextSchema, value: { field: violation.field } }]
    : [];
  const details = infos.map((value) => ({ desc: ErrorInfoSchema, value }));
  return new ConnectError(
    message,
    named ?? code,
    undefined,
    [...context, ...details],
    cause,
  );
}

const JSON_RPC_CODES: ReadonlyMap<number, Code> = new Map([
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
  [JsonRpcCode.INVALID_AGENT_RESPONSE, Code.Internal],
  [JsonRpcCode.RESOURCE_EXHAUSTED, Code.ResourceExhausted],
  [JsonRpcCode.ALREADY_EXISTS, Code.AlreadyExists],
  [JsonRpcCode.UNAVAILABLE, Code.Unavailable],
  // Only in A2A 1.0: extension support required, version not supported.
  [-32008, Code.FailedPrecondition],
  [-32009, Code.Unimplemented],
]);

/**
 * The failures that A2A 1.0 names in an `ErrorInfo`, in every binding (section
 * 5.4).
 */
const FAILURE_CODES: ReadonlyMap<string, Code> = new Map([
  ["TASK_NOT_FOUND", Code.NotFound],
  ["TASK_NOT_CANCELABLE", Code.FailedPrecondition],
  ["PUSH_NOTIFICATION_NOT_SUPPORTED", Code.Unimplemented],
  ["UNSUPPORTED_OPERATION", Code.FailedPrecondition],
  ["CONTENT_TYPE_NOT_SUPPORTED", Code.InvalidArgument],
  ["INVALID_AGENT_RESPONSE", Code.Internal],
  ["EXTENSION_SUPPORT_REQUIRED", Code.FailedPrecondition],
  ["VERSION_NOT_SUPPORTED", Code.Unimplemented],
]);

/**
 * HTTP statuses that do not follow the rule "5xx can be retried, 4xx cannot".
 */
const HTTP_CODES: ReadonlyMap<number, Code> = new Map([
  [403, Code.PermissionDenied],
  [404, Code.Unimplemented],
  [405, Code.Unimplemented],
  [408, Code.Unavailable],
  [429, Code.Unavailable],
  [501, Code.Unimplemented],
]);

/**
 * The names that gRPC, and so AIP-193, gives the codes.
 */
const GRPC_STATUSES: ReadonlyMap<string, Code> = new Map(
  Object.values(Code).flatMap((code) =>
    typeof code === "string" || code === Code.Unknown
      ? []
      : [[statusName(code), code] as const],
  ),
);

function statusName(code: Code): string {
  if (code === Code.Canceled) return "CANCELLED";
  return snakeCase(Code[code]).toUpperCase();
}
