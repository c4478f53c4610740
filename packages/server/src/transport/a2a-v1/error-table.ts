import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { Code } from "../../errors.ts";

/**
 * The codes of one kind of failure in each binding: JSON-RPC, HTTP+JSON and
 * gRPC.
 */
export type FailureCodes = readonly [
  rpcCode: number,
  status: number,
  code: Code,
];

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
  TASK_NOT_FOUND: [-32001, 404, Code.NotFound],
  TASK_NOT_CANCELABLE: [-32002, 400, Code.FailedPrecondition],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32003, 400, Code.FailedPrecondition],
  UNSUPPORTED_OPERATION: [-32004, 400, Code.FailedPrecondition],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 400, Code.InvalidArgument],
  INVALID_AGENT_RESPONSE: [-32006, 500, Code.Internal],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: [-32007, 400, Code.FailedPrecondition],
  EXTENSION_SUPPORT_REQUIRED: [-32008, 400, Code.FailedPrecondition],
  VERSION_NOT_SUPPORTED: [-32009, 400, Code.FailedPrecondition],
  RESOURCE_EXHAUSTED: [
    JsonRpcCode.RESOURCE_EXHAUSTED,
    507,
    Code.ResourceExhausted,
  ],
  ALREADY_EXISTS: [JsonRpcCode.ALREADY_EXISTS, 409, Code.AlreadyExists],
  UNAVAILABLE: [JsonRpcCode.UNAVAILABLE, 503, Code.Unavailable],
};

/** The codes of A2A 1.0.0, for clients that still expect them. */
export const ERROR_TABLE_1_0_0: ErrorTable = {
  ...ERROR_TABLE,
  TASK_NOT_CANCELABLE: [-32002, 409, Code.FailedPrecondition],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32003, 400, Code.Unimplemented],
  UNSUPPORTED_OPERATION: [-32004, 400, Code.Unimplemented],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 415, Code.InvalidArgument],
  INVALID_AGENT_RESPONSE: [-32006, 502, Code.Internal],
  VERSION_NOT_SUPPORTED: [-32009, 400, Code.Unimplemented],
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
