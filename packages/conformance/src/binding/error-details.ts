import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { fieldsOf } from "../json-fields.ts";
import type { Breach } from "./binding.ts";

/** How one of A2A's errors is told; where the revisions 1.0.0 and 1.0.1 differ, both are taken (section 5.4). */
export interface ErrorRow {
  readonly code: number;
  readonly reason: string;
  /** The statuses of HTTP. */
  readonly statuses: readonly number[];
  /** The codes of gRPC, by name. */
  readonly grpc: readonly string[];
}

/** The errors that A2A 1.0 names, and what JSON-RPC has beside them (sections 5.4 and 9.5). */
export const ERROR_ROWS: readonly ErrorRow[] = [
  { code: -32001, reason: "TASK_NOT_FOUND", statuses: [404], grpc: ["NOT_FOUND"] },
  { code: -32002, reason: "TASK_NOT_CANCELABLE", statuses: [400, 409], grpc: ["FAILED_PRECONDITION"] },
  {
    code: -32003,
    reason: "PUSH_NOTIFICATION_NOT_SUPPORTED",
    statuses: [400],
    grpc: ["FAILED_PRECONDITION", "UNIMPLEMENTED"],
  },
  { code: -32004, reason: "UNSUPPORTED_OPERATION", statuses: [400], grpc: ["FAILED_PRECONDITION", "UNIMPLEMENTED"] },
  { code: -32005, reason: "CONTENT_TYPE_NOT_SUPPORTED", statuses: [400, 415], grpc: ["INVALID_ARGUMENT"] },
  { code: -32006, reason: "INVALID_AGENT_RESPONSE", statuses: [500, 502], grpc: ["INTERNAL"] },
  { code: -32007, reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED", statuses: [400], grpc: ["FAILED_PRECONDITION"] },
  { code: -32008, reason: "EXTENSION_SUPPORT_REQUIRED", statuses: [400], grpc: ["FAILED_PRECONDITION"] },
  { code: -32009, reason: "VERSION_NOT_SUPPORTED", statuses: [400], grpc: ["FAILED_PRECONDITION", "UNIMPLEMENTED"] },
];

/** What servers of this project add under names of their own (ERR-2, STREAM-7). */
const OWN: readonly ErrorRow[] = [
  { code: -32050, reason: "RESOURCE_EXHAUSTED", statuses: [507], grpc: ["RESOURCE_EXHAUSTED"] },
  { code: -32051, reason: "ALREADY_EXISTS", statuses: [409], grpc: ["ALREADY_EXISTS"] },
];

const UNNAMED: readonly ErrorRow[] = [
  { code: -32602, reason: "", statuses: [400], grpc: ["INVALID_ARGUMENT", "OUT_OF_RANGE"] },
  { code: -32601, reason: "", statuses: [404, 405, 501], grpc: ["UNIMPLEMENTED"] },
  { code: -32600, reason: "", statuses: [401, 403], grpc: ["UNAUTHENTICATED", "PERMISSION_DENIED"] },
  { code: -32603, reason: "", statuses: [500], grpc: ["INTERNAL", "UNKNOWN"] },
];

/** The row of an error by the reason in its details; else the first that has such a status or code of gRPC. */
export function rowOf(
  details: readonly JsonValue[],
  told: { readonly status: number } | { readonly grpc: string },
): ErrorRow | undefined {
  const named = namedRow(details);
  if (named) return named;
  const tells = (row: ErrorRow): boolean =>
    "status" in told ? row.statuses.includes(told.status) : row.grpc.includes(told.grpc);
  return [...UNNAMED, ...ERROR_ROWS].find(tells);
}

/** The row of an error by the reason in its details; undefined when they have none that is known. */
export function namedRow(details: readonly JsonValue[]): ErrorRow | undefined {
  const reason = infoIn(details)?.reason;
  return [...ERROR_ROWS, ...OWN].find((row) => row.reason === reason);
}

/** What is wrong with the details of an error of A2A 1.0: one that has a name carries it in an `ErrorInfo`. */
export function detailBreaches({ error }: JsonObject): Breach[] {
  const { code, data } = fieldsOf(error);
  const row = ERROR_ROWS.find((item) => item.code === code);
  if (!row) return [];
  const info = infoIn(Array.isArray(data) ? data : []);
  if (info?.reason === row.reason && info.domain === "a2a-protocol.org") return [];
  const wanted = `{"@type":"${ERROR_INFO}","reason":"${row.reason}","domain":"a2a-protocol.org"}`;
  const reason = `error ${row.code} must carry ${wanted}: got ${JSON.stringify(data ?? null).slice(0, 300)}`;
  return [{ requirement: "A2A1-ERROR-INFO", reason }];
}

const ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo";

function infoIn(details: readonly JsonValue[]): Readonly<Record<string, JsonValue>> | undefined {
  return details.map(fieldsOf).find((detail) => detail["@type"] === ERROR_INFO);
}
