import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import type { DialectServices } from "../dialect.ts";
import { assertJson, readBody } from "../http/body.ts";
import { HttpFailure } from "../http/failure.ts";
import { send } from "../http/route.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import {
  errorText,
  idText,
  JsonRpcFailure,
  parseBody,
  type RpcRequest,
  readRequest,
} from "./json-rpc.ts";

/**
 * A JSON-RPC request, before a version interprets its method and parameters.
 */
export interface IdentifiedRequest extends RpcRequest {
  /** The id of the request as JSON text; `null` when it has none. */
  readonly id: string;
}

/** A version of A2A. All versions share the JSON-RPC endpoint. */
export interface JsonRpcVersion {
  /** Whether this version answers a request that calls `method`. */
  takes(call: RoutedCall, method: string): boolean;

  /** Answers a request, with an error if need be. */
  answer(call: RoutedCall, rpc: IdentifiedRequest): Promise<void>;

  /**
   * Answers a request whose body is not JSON, in the error format of this
   * version.
   *
   * Returns false, without an answer, for a request of another version.
   */
  refuseMediaType(call: RoutedCall, message: string): boolean;
}

/**
 * Answers a request to the JSON-RPC endpoint of all versions of A2A.
 *
 * @param versions in order: the first that takes a request answers it, and the
 * last one takes every request
 */
export async function answerJsonRpc(
  call: RoutedCall,
  { maxRequestBytes }: Pick<DialectServices, "maxRequestBytes">,
  versions: readonly JsonRpcVersion[],
): Promise<void> {
  const { request } = call;
  let id = "null";
  let rpc: RpcRequest;
  try {
    assertJson(request);
    const json = parseBody(await readBody(request, maxRequestBytes));
    id = idText(json);
    rpc = readRequest(json);
  } catch (reason) {
    return refuse(call, id, reason, versions);
  }
  const version = versions.find(({ takes }) => takes(call, rpc.method));
  return version?.answer(call, { ...rpc, id });
}

/** Answers a request that cannot be read. */
function refuse(
  call: RoutedCall,
  id: string,
  reason: unknown,
  versions: readonly JsonRpcVersion[],
): void {
  const { response } = call;
  if (response.destroyed || response.headersSent) return;
  call.noteRefusal(reason);
  const { status, message } = HttpFailure.from(reason);
  if (status === 415) {
    versions.some((version) => version.refuseMediaType(call, message));
    return;
  }
  // JSON-RPC sends its errors with status 200. Only a body that is too large
  // has a status of its own.
  const isTooLarge = status === 413;
  if (!isTooLarge && !(reason instanceof JsonRpcFailure)) throw reason;
  const error =
    reason instanceof JsonRpcFailure
      ? { code: reason.code, message: reason.message }
      : { code: JsonRpcCode.INVALID_REQUEST, message };
  send(response, isTooLarge ? 413 : 200, { body: errorText(id, error) });
}
