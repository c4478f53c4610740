import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import type { Breach } from "./binding.ts";

/**
 * One of A2A's errors in each binding. Where revisions 1.0.0 and 1.0.1 differ,
 * both are accepted (section 5.4).
 */
export interface ErrorRow {
  /**
   * The code of JSON-RPC.
   */
  readonly code: number;
  /**
   * The `reason` of the `ErrorInfo` in the details. Empty if the error has no
   * name.
   */
  readonly reason: string;
  /**
   * The HTTP statuses.
   */
  readonly statuses: readonly number[];
  /**
   * The names of the gRPC codes.
   */
  readonly grpc: readonly string[];
}

/**
 * The errors that A2A 1.0 names (sections 5.4 and 9.5).
 */
const ERROR_ROWS: readonly ErrorRow[] = [
  {
    code: -32001,
    reason: "TASK_NOT_FOUND",
    statuses: [404],
    grpc: ["NOT_FOUND"],
  },
  {
    code: -32002,
    reason: "TASK_NOT_CANCELABLE",
    statuses: [400, 409],
    grpc: ["FAILED_PRECONDITION"],
  },
  {
    code: -32003,
    reason: "PUSH_NOTIFICATION_NOT_SUPPORTED",
    statuses: [400],
    grpc: ["FAILED_PRECONDITION", "UNIMPLEMENTED"],
  },
  {
    code: -32004,
    reason: "UNSUPPORTED_OPERATION",
    statuses: [400],
    grpc: ["FAILED_PRECONDITION", "UNIMPLEMENTED"],
  },
  {
    code: -32005,
    reason: "CONTENT_TYPE_NOT_SUPPORTED",
    statuses: [400, 415],
    grpc: ["INVALID_ARGUMENT"],
  },
  {
    code: -32006,
    reason: "INVALID_AGENT_RESPONSE",
    statuses: [500, 502],
    grpc: ["INTERNAL"],
  },
  {
    code: -32007,
    reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    statuses: [400],
    grpc: ["FAILED_PRECONDITION"],
  },
  {
    code: -32008,
    reason: "EXTENSION_SUPPORT_REQUIRED",
    statuses: [400],
    grpc: ["FAILED_PRECONDITION"],
  },
  {
    code: -32009,
    reason: "VERSION_NOT_SUPPORTED",
    statuses: [400],
    grpc: ["FAILED_PRECONDITION", "UNIMPLEMENTED"],
  },
];

/**
 * Errors of the development-tool extension (ERR-2, STREAM-7).
 */
const EXTENSION_ROWS: readonly ErrorRow[] = [
  {
    code: -32050,
    reason: "RESOURCE_EXHAUSTED",
    statuses: [507],
    grpc: ["RESOURCE_EXHAUSTED"],
  },
  {
    code: -32051,
    reason: "ALREADY_EXISTS",
    statuses: [409],
    grpc: ["ALREADY_EXISTS"],
  },
];

/**
 * Errors that have a code in JSON-RPC, but no name in A2A.
 */
const UNNAMED_ROWS: readonly ErrorRow[] = [
  {
    code: -32602,
    reason: "",
    statuses: [400],
    grpc: ["INVALID_ARGUMENT", "OUT_OF_RANGE"],
  },
  {
    code: -32601,
    reason: "",
    statuses: [404, 405, 501],
    grpc: ["UNIMPLEMENTED"],
  },
  {
    code: -32600,
    reason: "",
    statuses: [401, 403],
    grpc: ["UNAUTHENTICATED", "PERMISSION_DENIED"],
  },
  { code: -32603, reason: "", statuses: [500], grpc: ["INTERNAL", "UNKNOWN"] },
];

/**
 * Finds the row of an error by the reason in its details, otherwise by its HTTP
 * status or gRPC code.
 */
export function findErrorRow(
  details: readonly JsonValue[],
  answer: { readonly status: number } | { readonly grpc: string },
): ErrorRow | undefined {
  const named = findNamedRow(details);
  if (named) return named;
  return [...UNNAMED_ROWS, ...ERROR_ROWS].find(({ statuses, grpc }) =>
    "status" in answer
      ? statuses.includes(answer.status)
      : grpc.includes(answer.grpc),
  );
}

/**
 * Finds the row of an error by the reason in its details.
 */
export function findNamedRow(
  details: readonly JsonValue[],
): ErrorRow | undefined {
  const reason = findErrorInfo(details)?.reason;
  return [...ERROR_ROWS, ...EXTENSION_ROWS].find(
    (row) => row.reason === reason,
  );
}

/**
 * Checks the details of an error of A2A 1.0: a named error carries its name in
 * an `ErrorInfo`.
 */
export function detailBreaches({ error }: JsonObject): Breach[] {
  const { code, data } = objectOrEmpty(error);
  const row = ERROR_ROWS.find((item) => item.code === code);
  if (!row) return [];
  const info = findErrorInfo(listOrEmpty(data));
  if (info?.reason === row.reason && info.domain === "a2a-protocol.org") {
    return [];
  }
  const wanted = `{"@type":"${ERROR_INFO}","reason":"${row.reason}","domain":"a2a-protocol.org"}`;
  const reason = `error ${row.code} must carry ${wanted}: got ${JSON.stringify(data ?? null).slice(0, 300)}`;
  return [{ requirement: "A2A1-ERROR-INFO", reason }];
}

const ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo";

function findErrorInfo(details: readonly JsonValue[]): JsonObject | undefined {
  return details
    .map(objectOrEmpty)
    .find((detail) => detail["@type"] === ERROR_INFO);
}
