import type { JsonValue } from "@bufbuild/protobuf";
import { JsonRpcCode, type JsonRpcError } from "@devtool/schema/a2a-v03";
import { objectOrEmpty } from "@devtool/schema/json";
import { Code, DevtoolError, withFieldNames } from "../../errors.ts";
import { jsonRpcErrorFrom } from "../a2a/json-rpc-errors.ts";
import { pushFieldNames } from "../a2a/push-fields.ts";
import { BodyTooLarge, UnsupportedMediaType } from "../http/body.ts";
import { JsonRpcFailure } from "../http/json-rpc.ts";

/** Who is told of failures that are not the client's fault. */
export interface FailureReport {
  /** Aborts when the server stops; what fails for that is no fault. */
  readonly shutdown: AbortSignal;
  readonly onError: (reason: unknown) => void;
}

/**
 * The error that a client gets for what was thrown, with the field under the name that its request has for it; what is not
 * the client's fault is told to the operator.
 */
export function reported(reason: unknown, { onError, shutdown }: FailureReport, params?: JsonValue): JsonRpcError {
  const error = jsonRpcErrorFrom(withFieldNames(reason, namesIn(params)));
  if (error.code === JsonRpcCode.INTERNAL_ERROR && reason !== shutdown.reason) onError(reason);
  return error;
}

/** The methods on tasks name theirs by `id`, messages and configs by `taskId`. */
function namesIn(params: JsonValue | undefined): Readonly<Record<string, string>> {
  const { id, taskId } = objectOrEmpty(params);
  return { ...PUSH_NAMES, ...(id !== undefined && taskId === undefined && { task_id: "id" }) };
}

const RENAMED = { "authentication.scheme": "authentication.schemes" };
const PUSH_NAMES = {
  ...pushFieldNames("config", "pushNotificationConfig", RENAMED),
  ...pushFieldNames("push_config", "configuration.pushNotificationConfig", RENAMED),
};

/** The header that goes with HTTP's status for a call that needs other credentials (A2A 0.3, section 7.10). */
export function challengeOf(reason: unknown): Readonly<Record<string, string>> {
  return isUnauthenticated(reason) ? { "www-authenticate": "Bearer" } : {};
}

/** The status of an error in JSON-RPC: 200, but for what keeps a body from being read and for missing credentials. */
export function rpcStatusOf(reason: unknown): number {
  return transportStatusOf(reason) ?? 200;
}

/** The status of an error in HTTP+JSON; `code` is the code that the error has in JSON-RPC. */
export function restStatusOf(reason: unknown, code: number): number {
  if (reason instanceof NoOperation && reason.verbs.length > 0) return 405;
  // A limit that the client can keep to names what it is about; a disk that is full names nothing.
  if (reason instanceof DevtoolError && reason.code === Code.ResourceExhausted && reason.details) return 429;
  return transportStatusOf(reason) ?? STATUSES.get(code) ?? 400;
}

/** There is nothing at a path, or nothing that is done with this verb. */
export class NoOperation extends JsonRpcFailure {
  constructor(
    message: string,
    /** The verbs that there are; empty when nothing is at the path. */
    readonly verbs: readonly string[],
  ) {
    super(message, JsonRpcCode.METHOD_NOT_FOUND);
  }
}

function transportStatusOf(reason: unknown): number | undefined {
  if (reason instanceof UnsupportedMediaType) return 415;
  if (reason instanceof BodyTooLarge) return 413;
  return isUnauthenticated(reason) ? 401 : undefined;
}

function isUnauthenticated(reason: unknown): boolean {
  return reason instanceof DevtoolError && reason.code === Code.Unauthenticated;
}

/** Statuses of HTTP+JSON other than 400, by code. */
const STATUSES: ReadonlyMap<number, number> = new Map([
  [JsonRpcCode.METHOD_NOT_FOUND, 404],
  [JsonRpcCode.INTERNAL_ERROR, 500],
  [JsonRpcCode.TASK_NOT_FOUND, 404],
  [JsonRpcCode.TASK_NOT_CANCELABLE, 409],
  [JsonRpcCode.CONTENT_TYPE_NOT_SUPPORTED, 415],
  [JsonRpcCode.INVALID_AGENT_RESPONSE, 502],
  [JsonRpcCode.RESOURCE_EXHAUSTED, 507],
  [JsonRpcCode.ALREADY_EXISTS, 409],
  [JsonRpcCode.AUTHENTICATED_EXTENDED_CARD_NOT_CONFIGURED, 404],
]);
