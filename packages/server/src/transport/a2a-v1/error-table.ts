import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { Code } from "../../errors.ts";

/**
 * The codes of one kind of failure in each binding: JSON-RPC, HTTP+JSON and
 * gRPC.
 */
export interface FailureCodes {
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

type OwnReason = "RESOURCE_EXHAUSTED" | "ALREADY_EXISTS" | "UNAVAILABLE";

/** The codes of all failures in one revision of the standard. */
export type ErrorTable = Readonly<Record<Reason, FailureCodes>>;

/** The codes of A2A 1.0.1 (section 5.4). */
export const ERROR_TABLE: ErrorTable = {
  TASK_NOT_FOUND: { rpcCode: -32001, status: 404, code: Code.NotFound },
  TASK_NOT_CANCELABLE: {
    rpcCode: -32002,
    status: 400,
    code: Code.FailedPrecondition,
  },
  PUSH_NOTIFICATION_NOT_SUPPORTED: {
    rpcCode: -32003,
    status: 400,
    code: Code.FailedPrecondition,
  },
  UNSUPPORTED_OPERATION: {
    rpcCode: -32004,
    status: 400,
    code: Code.FailedPrecondition,
  },
  CONTENT_TYPE_NOT_SUPPORTED: {
    rpcCode: -32005,
    status: 400,
    code: Code.InvalidArgument,
  },
  INVALID_AGENT_RESPONSE: { rpcCode: -32006, status: 500, code: Code.Internal },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: {
    rpcCode: -32007,
    status: 400,
    code: Code.FailedPrecondition,
  },
  EXTENSION_SUPPORT_REQUIRED: {
    rpcCode: -32008,
    status: 400,
    code: Code.FailedPrecondition,
  },
  VERSION_NOT_SUPPORTED: {
    rpcCode: -32009,
    status: 400,
    code: Code.FailedPrecondition,
  },
  RESOURCE_EXHAUSTED: {
    rpcCode: JsonRpcCode.RESOURCE_EXHAUSTED,
    status: 507,
    code: Code.ResourceExhausted,
  },
  ALREADY_EXISTS: {
    rpcCode: JsonRpcCode.ALREADY_EXISTS,
    status: 409,
    code: Code.AlreadyExists,
  },
  UNAVAILABLE: {
    rpcCode: JsonRpcCode.UNAVAILABLE,
    status: 503,
    code: Code.Unavailable,
  },
};

/** The codes of A2A 1.0.0, for clients that still expect them. */
export const ERROR_TABLE_1_0_0: ErrorTable = {
  ...ERROR_TABLE,
  TASK_NOT_CANCELABLE: {
    rpcCode: -32002,
    status: 409,
    code: Code.FailedPrecondition,
  },
  PUSH_NOTIFICATION_NOT_SUPPORTED: {
    rpcCode: -32003,
    status: 400,
    code: Code.Unimplemented,
  },
  UNSUPPORTED_OPERATION: {
    rpcCode: -32004,
    status: 400,
    code: Code.Unimplemented,
  },
  CONTENT_TYPE_NOT_SUPPORTED: {
    rpcCode: -32005,
    status: 415,
    code: Code.InvalidArgument,
  },
  INVALID_AGENT_RESPONSE: { rpcCode: -32006, status: 502, code: Code.Internal },
  VERSION_NOT_SUPPORTED: {
    rpcCode: -32009,
    status: 400,
    code: Code.Unimplemented,
  },
};

/** The failures that are ours and not the standard's. */
export const OWN_REASONS: ReadonlySet<Reason> = new Set<OwnReason>([
  "RESOURCE_EXHAUSTED",
  "ALREADY_EXISTS",
  "UNAVAILABLE",
]);

/**
 * The codes in JSON-RPC of errors that are not one of the named failures.
 *
 * Default: an internal error.
 */
export const RPC_CODES: ReadonlyMap<Code, number> = new Map([
  [Code.InvalidArgument, JsonRpcCode.INVALID_PARAMS],
  [Code.PermissionDenied, JsonRpcCode.INVALID_REQUEST],
  [Code.Unauthenticated, JsonRpcCode.INVALID_REQUEST],
  [Code.ResourceExhausted, JsonRpcCode.UNSUPPORTED_OPERATION],
]);

/** The HTTP statuses of errors that are not one of the named failures. */
export const HTTP_STATUS: Readonly<Record<Code, number>> = {
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
