import type { Interceptor, StreamResponse } from "@connectrpc/connect";
import { type BearerToken, callWithToken, currentToken, streamWithToken } from "./bearer-token.ts";

/**
 * Creates an interceptor that sends a bearer token with every call of a Connect, gRPC or gRPC-Web
 * transport.
 *
 * If `token` is a function, a refused call is repeated once with the token that the function then
 * returns. Calls that stream requests are not repeated, because their requests are already
 * consumed.
 *
 * ```ts
 * const transport = createGrpcTransport({
 *   baseUrl: "https://agent.example",
 *   interceptors: [bearerInterceptor(() => readToken())],
 * });
 * ```
 */
export function bearerInterceptor(token: BearerToken): Interceptor {
  return (next) => async (request) => {
    const withToken = <R extends { readonly header: Headers }>(sent: R, value: string): R => {
      if (value !== "") sent.header.set("authorization", `Bearer ${value}`);
      return sent;
    };
    if (!request.stream) return callWithToken(token, (value) => next(withToken(request, value)));
    if (request.method.methodKind !== "server_streaming") return next(withToken(request, await currentToken(token)));
    const messages = await Array.fromAsync(request.message);
    return openStream(token, async (value) => {
      const message = (async function* () {
        yield* messages;
      })();
      const response = await next(withToken({ ...request, message }, value));
      if (!response.stream) throw new Error(`${request.method.name}: the transport did not answer with a stream`);
      return response;
    });
  };
}

/**
 * Opens a stream of responses. A server refuses a token before the first message: in the response
 * headers or, over gRPC, in the trailers, which arrive only when the messages are read.
 */
async function openStream(
  token: BearerToken,
  open: (token: string) => Promise<StreamResponse>,
): Promise<StreamResponse> {
  let sent = "";
  const response = await callWithToken(token, (value) => {
    sent = value;
    return open(value);
  });
  const message = streamWithToken(
    (refused) => (refused === undefined || typeof token === "string" ? sent : token(refused)),
    async function* (value) {
      yield* value === sent ? response.message : (await open(value)).message;
    },
  );
  return { ...response, message };
}
