import type { Interceptor, StreamResponse } from "@connectrpc/connect";
import {
  type BearerToken,
  callWithToken,
  currentToken,
  streamWithToken,
} from "./bearer-token.ts";

/**
 * Creates an interceptor that sends a bearer token with every call of a
 * Connect, gRPC or gRPC-Web transport.
 *
 * If `token` is a function, a refused call is repeated once with the token that
 * the function then returns. Calls that stream requests are not repeated,
 * because their requests are already consumed.
 *
 * ```ts
 * const transport = createGrpcTransport({
 *   baseUrl: "https://agent.example",
 *   interceptors: [bearerInterceptor(() => readToken())],
 * });
 * ```
 */
export function bearerInterceptor(token: BearerToken): Interceptor {
  const withToken = <R extends { readonly header: Headers }>(
    request: R,
    value: string,
  ): R => {
    if (value !== "") request.header.set("authorization", `Bearer ${value}`);
    return request;
  };
  // No call is repeated, so its messages go to the caller without a stage in
  // between.
  if (typeof token === "string") {
    return (next) => (request) => next(withToken(request, token));
  }
  return (next) => async (request) => {
    if (!request.stream) {
      return callWithToken(token, (value) => next(withToken(request, value)));
    }
    if (request.method.methodKind !== "server_streaming") {
      return next(withToken(request, await currentToken(token)));
    }
    const messages = await Array.fromAsync(request.message);
    return openStream(token, async (value) => {
      const message = (async function* () {
        yield* messages;
      })();
      const response = await next(withToken({ ...request, message }, value));
      if (!response.stream) {
        throw new Error(
          `${request.method.name}: the transport did not answer with a stream`,
        );
      }
      return response;
    });
  };
}

/**
 * Opens a stream of responses. A server refuses a token before the first
 * message: in the response headers or, over gRPC, in the trailers, which arrive
 * only when the messages are read.
 */
async function openStream(
  token: Exclude<BearerToken, string>,
  open: (token: string) => Promise<StreamResponse>,
): Promise<StreamResponse> {
  let sent = "";
  const response = await callWithToken(token, (value) => {
    sent = value;
    return open(value);
  });
  const message = streamWithToken(
    (refused) => (refused === undefined ? sent : token(refused)),
    async function* (value) {
      yield* value === sent ? response.message : (await open(value)).message;
    },
  );
  return { ...response, message };
}
