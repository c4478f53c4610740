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
import { objectOrEmpty } from "@devtool/schema/json";
import { Code, DevtoolError, type ErrorDetails } from "../../errors.ts";

/** The codes of one kind of failure in each binding: JSON-RPC, HTTP+JSON and gRPC. */
interface FailureCodes {
  readonly rpcCode: number;
  readonly status: number;
  readonly code: Code;
}

/**
 * The failures that A2A 1.0 names, and two of our own (ERR-2, STREAM-7).
 *
 * The name is the `reason` of the error's `ErrorInfo`.
 */
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

/** The codes of all failures in one revision of the standard. */
export type ErrorTable = Readonly<Record<Reason, FailureCodes>>;

/** The codes of A2A 1.0.1 (section 5.4). */
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

/** The codes of A2A 1.0.0, for clients that still expect them. */
export const ERROR_TABLE_1_0_0: ErrorTable = {
  ...ERROR_TABLE,
  TASK_NOT_CANCELABLE: { rpcCode: -32002, status: 409, code: Code.FailedPrecondition },
  PUSH_NOTIFICATION_NOT_SUPPORTED: { rpcCode: -32003, status: 400, code: Code.Unimplemented },
  UNSUPPORTED_OPERATION: { rpcCode: -32004, status: 400, code: Code.Unimplemented },
  CONTENT_TYPE_NOT_SUPPORTED: { rpcCode: -32005, status: 415, code: Code.InvalidArgument },
  INVALID_AGENT_RESPONSE: { rpcCode: -32006, status: 502, code: Code.Internal },
  VERSION_NOT_SUPPORTED: { rpcCode: -32009, status: 400, code: Code.Unimplemented },
};

const DOMAIN = "a2a-protocol.org";
const OWN_DOMAIN = "devtool.dev";
const OWN_REASONS: ReadonlySet<Reason> = new Set<OwnReason>(["RESOURCE_EXHAUSTED", "ALREADY_EXISTS"]);

/**
 * The codes in JSON-RPC of errors that are not one of the named failures.
 *
 * Default: an internal error.
 */
const RPC_CODES: ReadonlyMap<Code, number> = new Map([
  [Code.InvalidArgument, JsonRpcCode.INVALID_PARAMS],
  [Code.PermissionDenied, JsonRpcCode.INVALID_REQUEST],
  [Code.Unauthenticated, JsonRpcCode.INVALID_REQUEST],
  [Code.ResourceExhausted, JsonRpcCode.UNSUPPORTED_OPERATION],
]);

/** The names of codes in `google.rpc`. */
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

/** The HTTP statuses of errors that are not one of the named failures. */
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

/** A field of a request that is not valid, and what is wrong with it. */
type Violation = Pick<FieldViolation, "field" | "description">;

/** A failure that A2A 1.0 has a name for. */
export class A2aFailure extends Error {
  override readonly name = "A2aFailure";

  constructor(
    message: string,
    readonly reason: Reason,
    /** The metadata of the `ErrorInfo`: ids and versions by name. */
    readonly metadata: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** All fields of a request that are not valid. */
export class InvalidRequest extends Error {
  override readonly name = "InvalidRequest";

  constructor(readonly violations: readonly FieldViolation[]) {
    super(violations.map(({ field, description }) => `${field} ${description}`.trim()).join("; "));
  }
}

/**
 * Returns the error that gRPC sends for anything that a method throws.
 *
 * The other bindings show the same details from `google.rpc`: `ErrorInfo` and `BadRequest`.
 */
export function connectErrorFrom(reason: unknown, table: ErrorTable): ConnectError {
  if (reason instanceof ConnectError) return reason;
  if (reason instanceof A2aFailure) return namedError(reason, table);
  if (reason instanceof InvalidRequest) return badRequest(reason.message, reason.violations);
  if (reason instanceof WireError) {
    return badRequest(reason.message, [{ field: reason.field, description: reason.message }]);
  }
  const error = DevtoolError.from(reason);
  const { code, details } = error;
  const field = details?.field ?? "";
  const message = a2aErrorText(error.message, field);
  const violations = details ? [{ field: a2aFieldName(field), description: message }] : [];
  if (code === Code.InvalidArgument || code === Code.OutOfRange) return badRequest(message, violations);
  const failure = failureReason(code, details);
  if (failure) {
    const namesSubject = failure === "TASK_NOT_FOUND" || failure === "ALREADY_EXISTS";
    const metadata = details && namesSubject ? { [a2aFieldName(field)]: details.value } : {};
    return namedError(new A2aFailure(message, failure, metadata), table);
  }
  // A limit that the client can keep to names the field that it is about.
  const isLimit = code === Code.ResourceExhausted && details !== undefined;
  return new ConnectError(message, code, undefined, isLimit ? [violationsDetail(violations)] : [], error.cause);
}

/**
 * Returns the name that A2A has for an error of our own services; undefined for one that it does
 * not name.
 */
function failureReason(code: Code, details: ErrorDetails | undefined): Reason | undefined {
  switch (code) {
    case Code.NotFound:
      return "TASK_NOT_FOUND";
    case Code.AlreadyExists:
      return "ALREADY_EXISTS";
    case Code.ResourceExhausted:
      // With details it is a limit that the client can keep to. Without, the server is out of resources.
      return details ? undefined : "RESOURCE_EXHAUSTED";
    case Code.Unimplemented:
      // Notifications are the only service that a server may lack.
      return "PUSH_NOTIFICATION_NOT_SUPPORTED";
    case Code.FailedPrecondition:
    case Code.Aborted:
    case Code.Canceled:
      return "UNSUPPORTED_OPERATION";
    default:
      return undefined;
  }
}

function namedError({ message, reason, metadata }: A2aFailure, table: ErrorTable): ConnectError {
  const domain = OWN_REASONS.has(reason) ? OWN_DOMAIN : DOMAIN;
  const info = { desc: ErrorInfoSchema, value: { reason, domain, metadata: { ...metadata } } };
  return new ConnectError(message, table[reason].code, undefined, [info]);
}

function badRequest(message: string, violations: readonly Violation[]): ConnectError {
  return new ConnectError(message, Code.InvalidArgument, undefined, [
    // The standard has no reason for it, but its SDKs tell this error from others by this one.
    { desc: ErrorInfoSchema, value: { reason: "INVALID_PARAMS", domain: DOMAIN } },
    violationsDetail(violations),
  ]);
}

function violationsDetail(violations: readonly Violation[]) {
  const fieldViolations = violations.map(({ field, description }) => ({ field, description }));
  return { desc: BadRequestSchema, value: { fieldViolations } };
}

/** Returns an error as JSON-RPC sends it. */
export function rpcErrorFrom(error: ConnectError, table: ErrorTable): JsonObject {
  const data = encodeDetails(error);
  const code = codesOf(error, table)?.rpcCode ?? RPC_CODES.get(error.code) ?? JsonRpcCode.INTERNAL_ERROR;
  const message = error.rawMessage;
  return data.length > 0 ? { code, message, data } : { code, message };
}

/** Returns an error as HTTP+JSON sends it: its status, and its body in the form of AIP-193. */
export function httpErrorFrom(
  error: ConnectError,
  table: ErrorTable,
): { readonly status: number; readonly body: JsonObject } {
  const code = codesOf(error, table)?.status ?? HTTP_STATUS[error.code];
  const details = encodeDetails(error);
  return {
    status: code,
    body: { error: { code, status: STATUS_NAMES[error.code], message: error.rawMessage, details } },
  };
}

/** Returns the codes of a named failure; undefined for any other error. */
function codesOf(error: ConnectError, table: ErrorTable): FailureCodes | undefined {
  const [info] = error.findDetails(ErrorInfoSchema);
  const codes: Readonly<Record<string, FailureCodes>> = table;
  return info && Object.hasOwn(codes, info.reason) ? codes[info.reason] : undefined;
}

function encodeDetails(error: ConnectError): JsonValue[] {
  return [
    ...error.findDetails(ErrorInfoSchema).map((detail) => encodeDetail(ErrorInfoSchema, detail)),
    ...error.findDetails(BadRequestSchema).map((detail) => encodeDetail(BadRequestSchema, detail)),
  ];
}

/** Encodes a detail as `google.protobuf.Any`, which needs no registry here. */
function encodeDetail<Desc extends DescMessage>(schema: Desc, detail: MessageInitShape<Desc>): JsonObject {
  const json: JsonValue = toJson(schema, create(schema, detail));
  return { "@type": `type.googleapis.com/${schema.typeName}`, ...objectOrEmpty(json) };
}
