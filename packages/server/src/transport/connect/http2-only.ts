import type { Interceptor } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import { Code, DevtoolError } from "../../errors.ts";
import { httpRequestKey } from "./errors.ts";

/**
 * Returns a request in a form in which the library does not check its version of HTTP.
 *
 * The library answers a stream in both directions over HTTP/1.1 with the bare status 505. `refuseHttp1` says what is
 * wrong, in the protocol of the client.
 */
export function withOwnVersionCheck(request: UniversalServerRequest): UniversalServerRequest {
  return { ...request, httpVersion: "2.0" };
}

/** Refuses calls that stream in both directions and came over HTTP/1.1, and closes their connection. */
export const refuseHttp1: Interceptor = (next) => async (call) => {
  const request = call.contextValues.get(httpRequestKey);
  if (call.method.methodKind !== "bidi_streaming" || request?.httpVersionMajor !== 1) return next(call);
  const problem = `${call.method.name} needs HTTP/2, and this request came over HTTP/1.1`;
  const remedy = 'use gRPC, or Connect over HTTP/2 (in Node createConnectTransport({ httpVersion: "2" }))';
  throw new DevtoolError(problem, Code.FailedPrecondition, { remedy });
};
