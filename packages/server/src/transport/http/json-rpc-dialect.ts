import type { JsonValue } from "@bufbuild/protobuf";
import type { HttpRequest, HttpResponse } from "./route.ts";

/** A request of JSON-RPC that was read so far as all dialects have it in common. */
export interface DialectCall {
  /** The id of the request as JSON text; `null` when it has none. */
  readonly id: string;
  readonly hasId: boolean;
  readonly method: string;
  readonly params: JsonValue | undefined;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
}

/** A version of A2A that shares the endpoint of JSON-RPC with others. */
export interface JsonRpcDialect {
  /** Whether a request is written in this dialect. */
  takes(request: HttpRequest, method: string): boolean;
  /** Answers a request, also with an error. */
  answer(request: HttpRequest, response: HttpResponse, call: DialectCall): Promise<void>;
  /** Answers a request whose body is of a media type that is not read. Returns false when the request is not of this version. */
  refuseMediaType(request: HttpRequest, response: HttpResponse, message: string): boolean;
}
