import {
  create,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { WireError } from "@devtool/schema";
import { BadRequestSchema, ErrorInfoSchema, type FieldViolation } from "@devtool/schema/a2a-v1";
import { a2aErrorText, a2aFieldName, JsonRpcCode } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import { BodyTooLarge } from "../http/body.ts";

/** How one kind of failure is told in each binding. */
interface Row {
  readonly rpcCode: number;
  readonly status: number;
  readonly code: Code;
}

/** The failures that A2A 1.0 names, and two of ours (ERR-2, STREAM-7); the name is the `reason` of the `ErrorInfo` that goes along. */
export type Reason =
  | "TASK_NOT_FOUND"
  | "TASK_NOT_CANCELABLE"
  | "PUSH_NOTIFICATION_NOT_SUPPORTED"
  | "UNSUPPORTED_OPERATION"
  | "CONTENT_TYPE_NOT_SUPPORTED"
  | "INVALID_AGENT_RESPONSE"
  | "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
  | "EXTENSION_SUPPORT_REQUIRED"
  | "VERSION_NOT_SUPPORTED"
  | OwnReason;

type OwnReason = "RESOURCE_EXHAUSTED" | "ALREADY_EXISTS";

/** How each failure is told; one table for each revision of the standard. */
export type ErrorTable = Readonly<Record<Reason, Row>>;

/** The table of A2A 1.0.1 (section 5.4). */
export const ERROR_TABLE: ErrorTable = {
  TASK_NOT_FOUND: { rpcCode: -32001, status: 404, code: Code.NotFound },
  TASK_NOT_CANCELABLE: { rpcCode: -32002, status: 400, code: Code.FailedPrecondition },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { rpcCode: -32003, status: 400, code: Code.FailedPrecondition },
  UNSUPPORTED_OPERATION: { rpcCode: -32004, status: 400, code: Code.FailedPrecondition },
  CONTENT_TYPE_NOT_SUPPORTED: { rpcCode: -32005, status: 400, code: Code.InvalidArgument },
  INVALID_AGENT_RESPONSE: { rpcCode: -32006, status: 500, code: Code.Internal },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: { rpcCode: -32007, status: 400, code: Code.FailedPrecondition },
  EXTENSION_SUPPORT_REQUIRED: { rpcCode: -32008, status: 400, code: Code.FailedPrecondition },
  VERSION_NOT_SUPPORTED: { rpcCode: -32009, status: 400, code: Code.FailedPrecondition },
  RESOURCE_EXHAUSTED: { rpcCode: JsonRpcCode.RESOURCE_EXHAUSTED, status: 507, code: Code.ResourceExhausted },
  ALREADY_EXISTS: { rpcCode: JsonRpcCode.ALREADY_EXISTS, status: 409, code: Code.AlreadyExists },
};

/** The table of A2A 1.0.0, for peers that still hold to it. */
export const ERROR_TABLE_1_0_0: ErrorTable = {
  ...ERROR_TABLE,
  TASK_NOT_CANCELABLE: { rpcCode: -32002, status: 409, code: Code.FailedPrecondition },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { rpcCode: -32003, status: 400, code: Code.Unimplemented },
  UNSUPPORTED_OPERATION: { rpcCode: -32004, status: 400, code: Code.Unimplemented },
  CONTENT_TYPE_NOT_SUPPORTED: { rpcCode: -32005, status: 415, code: Code.InvalidArgument },
  INVALID_AGENT_RESPONSE: { rpcCode: -32006, status: 502, code: Code.Internal },
  VERSION_NOT_SUPPORTED: { rpcCode: -32009, status: 400, code: Code.Unimplemented },
};

/** A failure that A2A 1.0 has a name for. */
export class A2aFailure extends Error {
  override readonly name = "A2aFailure";

  constructor(
    message: string,
    readonly reason: Reason,
    /** What goes into the `ErrorInfo`: ids and versions by name. */
    readonly metadata: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** Fields of a request that cannot be used: all of them at once. */
export class InvalidRequest extends Error {
  override readonly name = "InvalidRequest";

  constructor(readonly violations: readonly FieldViolation[]) {
    super(violations.map(({ field, description }) => `${field} ${description}`.trim()).join("; "));
  }
}

/** Turns whatever is thrown into the error that gRPC sends, with the details of `google.rpc` that all bindings show. */
export function connectErrorOf(reason: unknown, table: ErrorTable): ConnectError {
  if (reason instanceof ConnectError) return reason;
  if (reason instanceof A2aFailure) return named(reason, table);
  if (reason instanceof InvalidRequest) return badRequest(reason.message, reason.violations, Code.InvalidArgument);
  if (reason instanceof WireError) return badRequest(reason.message, [violationOf(reason)], Code.InvalidArgument);
  const error = DevtoolError.from(reason);
  const { code, details } = error;
  const message = a2aErrorText(error.message, details?.field ?? "");
  const meant = details ? { [a2aFieldName(details.field)]: details.value } : {};
  if (code === Code.NotFound) return named(new A2aFailure(message, "TASK_NOT_FOUND", meant), table);
  if (code === Code.AlreadyExists) return named(new A2aFailure(message, "ALREADY_EXISTS", meant), table);
  // Without a field it is the server that has no room, and not a limit that the client can keep to.
  if (code === Code.ResourceExhausted && !details) return named(new A2aFailure(message, "RESOURCE_EXHAUSTED"), table);
  // The one thing that our services may not offer is notifications.
  if (code === Code.Unimplemented) return named(new A2aFailure(message, "PUSH_NOTIFICATION_NOT_SUPPORTED"), table);
  if (UNSUPPORTED.has(code)) return named(new A2aFailure(message, "UNSUPPORTED_OPERATION"), table);
  if (code === Code.InvalidArgument || code === Code.OutOfRange) {
    return badRequest(
      message,
      details ? [{ field: a2aFieldName(details.field), description: message }] : [],
      Code.InvalidArgument,
    );
  }
  // A limit that the client can keep to comes with the field that it is about.
  const limited = code === Code.ResourceExhausted && details;
  const fields = limited ? [violationsDetail([{ field: a2aFieldName(details.field), description: message }])] : [];
  return new ConnectError(message, code, undefined, fields, error.cause);
}

const UNSUPPORTED: ReadonlySet<Code> = new Set([Code.FailedPrecondition, Code.Aborted, Code.Canceled]);

function named({ message, reason, metadata }: A2aFailure, table: ErrorTable): ConnectError {
  const domain = OWN_REASONS.has(reason) ? OWN_DOMAIN : DOMAIN;
  const info = { desc: ErrorInfoSchema, value: { reason, domain, metadata: { ...metadata } } };
  return new ConnectError(message, table[reason].code, undefined, [info]);
}

const DOMAIN = "a2a-protocol.org";
const OWN_DOMAIN = "devtool.dev";
const OWN_REASONS: ReadonlySet<Reason> = new Set<OwnReason>(["RESOURCE_EXHAUSTED", "ALREADY_EXISTS"]);

function badRequest(message: string, violations: readonly FieldViolation[], code: Code): ConnectError {
  return new ConnectError(message, code, undefined, [
    // The standard has no reason for it, but its SDKs look for this one to tell it from other errors.
    { desc: ErrorInfoSchema, value: { reason: "INVALID_PARAMS", domain: DOMAIN } },
    violationsDetail(violations),
  ]);
}

function violationsDetail(violations: readonly Pick<FieldViolation, "field" | "description">[]) {
  const fieldViolations = violations.map(({ field, description }) => ({ field, description }));
  return { desc: BadRequestSchema, value: { fieldViolations } };
}

function violationOf({ field, message }: WireError): FieldViolation {
  return { field, description: message };
}

/** An error as JSON-RPC has it. */
export function rpcErrorOf(error: ConnectError, table: ErrorTable): JsonObject {
  const data = detailsOf(error);
  const isLimit = error.code === Code.ResourceExhausted && data.length > 0;
  const other = isLimit ? JsonRpcCode.UNSUPPORTED_OPERATION : (RPC_CODES.get(error.code) ?? JsonRpcCode.INTERNAL_ERROR);
  const code = rowOf(error, table)?.rpcCode ?? other;
  return { code, message: error.rawMessage, ...(data.length > 0 && { data }) };
}

const RPC_CODES: ReadonlyMap<Code, number> = new Map([
  [Code.InvalidArgument, JsonRpcCode.INVALID_PARAMS],
  [Code.PermissionDenied, JsonRpcCode.INVALID_REQUEST],
  [Code.Unauthenticated, JsonRpcCode.INVALID_REQUEST],
  [Code.ResourceExhausted, JsonRpcCode.UNSUPPORTED_OPERATION],
]);

/** An error as HTTP+JSON has it: its status, and its body in the form of AIP-193. */
export function httpErrorOf(
  error: ConnectError,
  table: ErrorTable,
): { readonly status: number; readonly body: JsonObject } {
  const status = rowOf(error, table)?.status ?? HTTP_STATUS[error.code];
  const shown = { code: status, status: STATUS_NAMES[error.code], message: error.rawMessage };
  return { status, body: { error: { ...shown, details: detailsOf(error) } } };
}

/** The status of what keeps a body from being read; undefined when the error is no such thing. */
export function bodyStatusOf(reason: unknown): number | undefined {
  return reason instanceof BodyTooLarge ? 413 : undefined;
}

function rowOf(error: ConnectError, table: ErrorTable): Row | undefined {
  const [info] = error.findDetails(ErrorInfoSchema);
  return info && isReason(info.reason, table) ? table[info.reason] : undefined;
}

function isReason(reason: string, table: ErrorTable): reason is Reason {
  return reason in table;
}

function detailsOf(error: ConnectError): JsonValue[] {
  return [
    ...error.findDetails(ErrorInfoSchema).map((detail) => anyJson(ErrorInfoSchema, detail)),
    ...error.findDetails(BadRequestSchema).map((detail) => anyJson(BadRequestSchema, detail)),
  ];
}

function anyJson<Desc extends DescMessage>(schema: Desc, detail: MessageInitShape<Desc>): JsonObject {
  const json: JsonValue = toJson(schema, create(schema, detail));
  const fields = typeof json === "object" && json !== null && !Array.isArray(json) ? json : {};
  return { "@type": `type.googleapis.com/${schema.typeName}`, ...fields };
}

const STATUS_NAMES: Readonly<Record<Code, string>> = {
  [Code.Canceled]: "CANCELLED",
  [Code.Unknown]: "UNKNOWN",
  [Code.InvalidArgument]: "INVALID_ARGUMENT",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.NotFound]: "NOT_FOUND",
  [Code.AlreadyExists]: "ALREADY_EXISTS",
  [Code.PermissionDenied]: "PERMISSION_DENIED",
  [Code.ResourceExhausted]: "RESOURCE_EXHAUSTED",
  [Code.FailedPrecondition]: "FAILED_PRECONDITION",
  [Code.Aborted]: "ABORTED",
  [Code.OutOfRange]: "OUT_OF_RANGE",
  [Code.Unimplemented]: "UNIMPLEMENTED",
  [Code.Internal]: "INTERNAL",
  [Code.Unavailable]: "UNAVAILABLE",
  [Code.DataLoss]: "DATA_LOSS",
  [Code.Unauthenticated]: "UNAUTHENTICATED",
};

const HTTP_STATUS: Readonly<Record<Code, number>> = {
  [Code.Canceled]: 499,
  [Code.Unknown]: 500,
  [Code.InvalidArgument]: 400,
  [Code.DeadlineExceeded]: 504,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.PermissionDenied]: 403,
  [Code.ResourceExhausted]: 429,
  [Code.FailedPrecondition]: 400,
  [Code.Aborted]: 409,
  [Code.OutOfRange]: 400,
  [Code.Unimplemented]: 501,
  [Code.Internal]: 500,
  [Code.Unavailable]: 503,
  [Code.DataLoss]: 500,
  [Code.Unauthenticated]: 401,
};
