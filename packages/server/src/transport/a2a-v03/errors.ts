import type { JsonValue } from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import { JsonRpcCode, type JsonRpcError } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError, withFieldNames } from "../../errors.ts";
import { JsonRpcFailure } from "../a2a/json-rpc.ts";
import { jsonRpcErrorFrom } from "../a2a/json-rpc-errors.ts";
import { pushFieldNames } from "../a2a/push-fields.ts";
import { HttpFailure } from "../http/failure.ts";

/** Where errors that are not the client's fault are reported. */
export interface FailureReport {
  /**
   * Aborts when the server stops. Errors that come from this are not reported.
   */
  readonly shutdown: AbortSignal;
  readonly onError: (reason: unknown) => void;
}

/**
 * The HTTP statuses of errors in HTTP+JSON other than 400, by their code in
 * JSON-RPC.
 */
const REST_STATUSES: ReadonlyMap<number, number> = new Map([
  [JsonRpcCode.METHOD_NOT_FOUND, 404],
  [JsonRpcCode.INTERNAL_ERROR, 500],
  [JsonRpcCode.TASK_NOT_FOUND, 404],
  [JsonRpcCode.TASK_NOT_CANCELABLE, 409],
  [JsonRpcCode.CONTENT_TYPE_NOT_SUPPORTED, 415],
  [JsonRpcCode.INVALID_AGENT_RESPONSE, 502],
  [JsonRpcCode.RESOURCE_EXHAUSTED, 507],
  [JsonRpcCode.ALREADY_EXISTS, 409],
  [JsonRpcCode.UNAVAILABLE, 503],
  [JsonRpcCode.AUTHENTICATED_EXTENDED_CARD_NOT_CONFIGURED, 404],
]);

const RENAMED = { "authentication.scheme": "authentication.schemes" };

/**
 * The names that push config fields of our own requests have in a request of
 * A2A 0.3.
 */
const PUSH_NAMES = {
  ...pushFieldNames("config", "pushNotificationConfig", RENAMED),
  ...pushFieldNames(
    "push_config",
    "configuration.pushNotificationConfig",
    RENAMED,
  ),
};

/** The path does not exist, or not for this HTTP method. */
export class NoOperation extends JsonRpcFailure {
  constructor(
    message: string,
    /** The HTTP methods of the path; empty when the path does not exist. */
    readonly httpMethods: readonly string[],
  ) {
    super(message, JsonRpcCode.METHOD_NOT_FOUND);
  }
}

/**
 * Returns the error that a client gets for anything that was thrown, and
 * reports it to the operator unless it is the client's fault.
 *
 * The error names fields as the request does: methods on tasks call the task
 * `id`, messages and push configs `taskId`.
 */
export function reportError(
  reason: unknown,
  { onError, shutdown }: FailureReport,
  params?: JsonValue,
): JsonRpcError {
  const { id, taskId } = objectOrEmpty(params);
  const names =
    id !== undefined && taskId === undefined
      ? { ...PUSH_NAMES, task_id: "id" }
      : PUSH_NAMES;
  const error = jsonRpcErrorFrom(withFieldNames(reason, names));
  if (error.code === JsonRpcCode.INTERNAL_ERROR && reason !== shutdown.reason) {
    onError(reason);
  }
  return error;
}

/**
 * Returns the HTTP status of an error in HTTP+JSON. `code` is the code that the
 * error has in JSON-RPC.
 */
export function restStatusOf(reason: unknown, code: number): number {
  if (reason instanceof NoOperation && reason.httpMethods.length > 0) {
    return 405;
  }
  // With details it is a limit that the client can keep to. Without, the server
  // is out of resources, for instance of disk space.
  if (
    reason instanceof DevtoolError &&
    reason.code === Code.ResourceExhausted &&
    reason.details
  ) {
    return 429;
  }
  return httpStatusOf(reason) ?? REST_STATUSES.get(code) ?? 400;
}

/**
 * Returns the status of an error that HTTP itself defines: a body that cannot
 * be read, or missing credentials (A2A 0.3, section 7.10); undefined for any
 * other error.
 */
export function httpStatusOf(reason: unknown): number | undefined {
  const { status } = HttpFailure.from(reason);
  return [401, 413, 415].includes(status) ? status : undefined;
}
