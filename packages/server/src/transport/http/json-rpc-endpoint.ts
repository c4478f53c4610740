import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { assertJson, BodyTooLarge, readBody, UnsupportedMediaType } from "./body.ts";
import { ClientGone } from "./client-gone.ts";
import { errorText, idText, JSON_RPC_PATHS, JsonRpcFailure, parseBody, readRequest } from "./json-rpc.ts";
import type { JsonRpcDialect } from "./json-rpc-dialect.ts";
import { type HttpRequest, type HttpResponse, type Route, send } from "./route.ts";

/** Dependencies of the endpoint of JSON-RPC. */
export interface JsonRpcEndpoint {
  /** The dialects that share the endpoint: the first that takes a request answers it. The last takes every request. */
  readonly dialects: readonly JsonRpcDialect[];
  /** Maximum size of a request body in bytes. */
  readonly maxRequestBytes: number;
  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;
}

/** The endpoint of JSON-RPC, at `/` and `/a2a`. */
export function jsonRpcRoute(endpoint: JsonRpcEndpoint): Route {
  return {
    name: "POST /",
    access: "token",
    matches: (method, path) => method === "POST" && JSON_RPC_PATHS.has(path),
    handle: (request, response) => answer(request, response, endpoint),
  };
}

async function answer(request: HttpRequest, response: HttpResponse, endpoint: JsonRpcEndpoint): Promise<void> {
  const { dialects, maxRequestBytes, shutdown } = endpoint;
  using gone = new ClientGone(response, shutdown);
  let id = "null";
  try {
    assertJson(request);
    const json = parseBody(await readBody(request, maxRequestBytes));
    id = idText(json);
    const call = { ...readRequest(json), id, signal: gone.signal };
    await dialects.find(({ takes }) => takes(request, call.method))?.answer(request, response, call);
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    if (reason instanceof UnsupportedMediaType) refuseMediaType(request, response, { dialects, reason });
    else sendFailure(response, id, reason);
  }
}

/** Each version has an error of its own for a body that is not JSON. */
function refuseMediaType(
  request: HttpRequest,
  response: HttpResponse,
  { dialects, reason }: { readonly dialects: readonly JsonRpcDialect[]; readonly reason: UnsupportedMediaType },
): void {
  dialects.some((dialect) => dialect.refuseMediaType(request, response, reason.message));
}

/** JSON-RPC answers its errors with 200; what keeps a body from being read is HTTP's own. Throws what is neither. */
function sendFailure(response: HttpResponse, id: string, reason: unknown): void {
  const isTooLarge = reason instanceof BodyTooLarge;
  if (!isTooLarge && !(reason instanceof JsonRpcFailure)) throw reason;
  const code = isTooLarge ? JsonRpcCode.INVALID_REQUEST : reason.code;
  send(response, isTooLarge ? 413 : 200, { body: errorText(id, { code, message: reason.message }) });
}
