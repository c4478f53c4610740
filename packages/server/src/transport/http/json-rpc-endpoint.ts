import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import {
  assertJson,
  BodyTooLarge,
  readBody,
  UnsupportedMediaType,
} from "./body.ts";
import { ClientGone } from "./client-gone.ts";
import {
  errorText,
  idText,
  JsonRpcFailure,
  parseBody,
  type RpcRequest,
  readRequest,
} from "./json-rpc.ts";
import {
  type HttpRequest,
  type HttpResponse,
  JSON_RPC_PATHS,
  type Route,
  send,
} from "./route.ts";

/**
 * A JSON-RPC request, before a dialect interprets its method and parameters.
 */
export interface DialectCall extends RpcRequest {
  /** The id of the request as JSON text; `null` when it has none. */
  readonly id: string;
  /** Aborts when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/** A version of A2A. All versions share the JSON-RPC endpoint. */
export interface JsonRpcDialect {
  /** Whether this version answers a request that calls `method`. */
  takes(request: HttpRequest, method: string): boolean;

  /** Answers a request, with an error if need be. */
  answer(
    request: HttpRequest,
    response: HttpResponse,
    call: DialectCall,
  ): Promise<void>;

  /**
   * Answers a request whose body is not JSON, in the error format of this
   * version.
   *
   * Returns false, without an answer, for a request of another version.
   */
  refuseMediaType(
    request: HttpRequest,
    response: HttpResponse,
    message: string,
  ): boolean;
}

/** Dependencies of the JSON-RPC endpoint. */
export interface JsonRpcEndpoint {
  /**
   * The versions in order: the first that takes a request answers it.
   *
   * The last one takes every request.
   */
  readonly dialects: readonly JsonRpcDialect[];
  /** Maximum size of a request body in bytes. */
  readonly maxRequestBytes: number;
  /** Aborts when the server stops. */
  readonly shutdown: AbortSignal;
}

/** The JSON-RPC endpoint of all versions of A2A, at `/` and `/a2a`. */
export function jsonRpcRoute({
  dialects,
  maxRequestBytes,
  shutdown,
}: JsonRpcEndpoint): Route {
  return {
    name: "POST /",
    access: "token",
    matches: (method, path) => method === "POST" && JSON_RPC_PATHS.has(path),
    async handle(request, response) {
      const gone = new ClientGone(response, shutdown);
      let id = "null";
      try {
        assertJson(request);
        const json = parseBody(await readBody(request, maxRequestBytes));
        id = idText(json);
        const call = { ...readRequest(json), id, signal: gone.signal };
        await dialects
          .find(({ takes }) => takes(request, call.method))
          ?.answer(request, response, call);
      } catch (reason) {
        if (response.destroyed || response.headersSent) return;
        if (reason instanceof UnsupportedMediaType) {
          dialects.some((dialect) =>
            dialect.refuseMediaType(request, response, reason.message),
          );
          return;
        }
        // JSON-RPC sends its errors with status 200. Only a body that is too
        // large has a status of its own.
        const isTooLarge = reason instanceof BodyTooLarge;
        if (!isTooLarge && !(reason instanceof JsonRpcFailure)) throw reason;
        const code = isTooLarge ? JsonRpcCode.INVALID_REQUEST : reason.code;
        send(response, isTooLarge ? 413 : 200, {
          body: errorText(id, { code, message: reason.message }),
        });
      } finally {
        // Not `using`: as it is compiled, it costs an idle stream 300 bytes.
        gone[Symbol.dispose]();
      }
    },
  };
}
