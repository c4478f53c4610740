import { type DescMessage, type JsonValue, type MessageShape, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { decodeRfcJson, ErrorContextSchema, WireError } from "@devtool/schema";
import { type BadRequest, BadRequestSchema, type ErrorInfo, ErrorInfoSchema } from "@devtool/schema/a2a-v1";
import { errorFromRest, JsonRpcCode, type JsonRpcError } from "@devtool/schema/a2a-v03";
import { listOf, objectOf, textOf } from "./json.ts";
import { decodeAnswer, refusalOf } from "./peer.ts";

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
  [JsonRpcCode.INVALID_AGENT_RESPONSE, Code.Internal],
  [JsonRpcCode.RESOURCE_EXHAUSTED, Code.ResourceExhausted],
  [JsonRpcCode.ALREADY_EXISTS, Code.AlreadyExists],
  // Of 1.0 alone: the extension is required, the version is not supported.
  [-32008, Code.FailedPrecondition],
  [-32009, Code.Unimplemented],
]);

/** The failures that A2A 1.0 names (section 5.4), in whichever binding; its codes of gRPC tell less. */
const REASONS: ReadonlyMap<string, Code> = new Map([
  ["TASK_NOT_FOUND", Code.NotFound],
  ["TASK_NOT_CANCELABLE", Code.FailedPrecondition],
  ["PUSH_NOTIFICATION_NOT_SUPPORTED", Code.Unimplemented],
  ["UNSUPPORTED_OPERATION", Code.FailedPrecondition],
  ["CONTENT_TYPE_NOT_SUPPORTED", Code.InvalidArgument],
  ["INVALID_AGENT_RESPONSE", Code.Internal],
  ["EXTENSION_SUPPORT_REQUIRED", Code.FailedPrecondition],
  ["VERSION_NOT_SUPPORTED", Code.Unimplemented],
]);

/** What the details of an error say, as `google.rpc` has them. */
interface Details {
  readonly infos: readonly ErrorInfo[];
  readonly requests: readonly BadRequest[];
}

/** Turns an error of JSON-RPC or A2A into the one that Connect has for it; 1.0 has a list of details, 0.3 names a field. */
export function connectErrorFrom({ code, message, data }: JsonRpcError): ConnectError {
  const json = data ? toJson(ValueSchema, data) : null;
  const known = CODES.get(code) ?? Code.Unknown;
  if (Array.isArray(json)) return detailed(message, known, detailsIn(json));
  const { field, value } = objectOf(json);
  if (typeof field !== "string") return new ConnectError(message, known);
  const context = { desc: ErrorContextSchema, value: { field, value: textOf(value) } };
  return new ConnectError(message, known, undefined, [context]);
}

/** Turns the body of an error of HTTP+JSON (AIP-193) into the one that Connect has for it; undefined when it is none. */
export function connectErrorOfStatus(json: JsonValue): ConnectError | undefined {
  const { status, message, details } = objectOf(objectOf(json).error);
  if (typeof message !== "string") return undefined;
  return detailed(message, STATUSES.get(textOf(status)) ?? Code.Unknown, detailsIn(listOf(details)));
}

/**
 * Turns the body of an error of A2A 0.3 over HTTP+JSON, whose form is left open, into the one that Connect has for it;
 * undefined when it is none. A server that speaks 1.0 too may write that one's form.
 */
export function connectErrorOfRest(json: JsonValue, status: number): ConnectError | undefined {
  if (textOf(objectOf(objectOf(json).error).status) !== "") return connectErrorOfStatus(json);
  // HTTP has a status for these, and the codes of JSON-RPC have none.
  if (status === 401 || status === 403 || status === 503) return refusalOf(status, JSON.stringify(json));
  const error = decodeAnswer(() => errorFromRest(json, status));
  return error && connectErrorFrom(error);
}

/** Gives an error of gRPC the code that we have for the failure it names. */
export function connectErrorOfGrpc(reason: unknown): ConnectError {
  const error = ConnectError.from(reason);
  const details = { infos: error.findDetails(ErrorInfoSchema), requests: error.findDetails(BadRequestSchema) };
  return detailed(error.rawMessage, error.code, details, error);
}

function detailed(message: string, code: Code, { infos, requests }: Details, cause?: unknown): ConnectError {
  const named = infos.flatMap(({ reason }) => REASONS.get(reason) ?? [])[0];
  const [violation] = requests.flatMap(({ fieldViolations }) => fieldViolations);
  const context = violation ? [{ desc: ErrorContextSchema, value: { field: violation.field } }] : [];
  const details = infos.map((value) => ({ desc: ErrorInfoSchema, value }));
  return new ConnectError(message, named ?? code, undefined, [...context, ...details], cause);
}

function detailsIn(details: readonly JsonValue[]): Details {
  return { infos: ofType(ErrorInfoSchema, details), requests: ofType(BadRequestSchema, details) };
}

/** The details of one type; what cannot be read says nothing. */
function ofType<Desc extends DescMessage>(schema: Desc, details: readonly JsonValue[]): MessageShape<Desc>[] {
  return details.map(objectOf).flatMap((detail) => {
    if (!textOf(detail["@type"]).endsWith(`/${schema.typeName}`)) return [];
    try {
      return [decodeRfcJson(schema, detail)];
    } catch (reason) {
      if (reason instanceof WireError) return [];
      throw reason;
    }
  });
}

/** The codes by the names that `google.rpc` has for them. */
const STATUSES: ReadonlyMap<string, Code> = new Map([
  ["CANCELLED", Code.Canceled],
  ["INVALID_ARGUMENT", Code.InvalidArgument],
  ["DEADLINE_EXCEEDED", Code.DeadlineExceeded],
  ["NOT_FOUND", Code.NotFound],
  ["ALREADY_EXISTS", Code.AlreadyExists],
  ["PERMISSION_DENIED", Code.PermissionDenied],
  ["RESOURCE_EXHAUSTED", Code.ResourceExhausted],
  ["FAILED_PRECONDITION", Code.FailedPrecondition],
  ["ABORTED", Code.Aborted],
  ["OUT_OF_RANGE", Code.OutOfRange],
  ["UNIMPLEMENTED", Code.Unimplemented],
  ["INTERNAL", Code.Internal],
  ["UNAVAILABLE", Code.Unavailable],
  ["DATA_LOSS", Code.DataLoss],
  ["UNAUTHENTICATED", Code.Unauthenticated],
]);
