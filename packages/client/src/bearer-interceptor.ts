import type { Interceptor, StreamResponse } from "@connectrpc/connect";
import { type BearerToken, callWithToken, streamWithToken, tokenOf } from "./bearer-token.ts";

/**
 * Sends a bearer token with every call of a Connect, gRPC or gRPC-Web transport. Where the token is a function, a call that
 * is refused is repeated once with the token that the function gives then; a call that streams requests is not.
 */
export function bearerInterceptor(token: BearerToken): Interceptor {
  return (next) => async (request) => {
    const withToken = <R extends { readonly header: Headers }>(sent: R, value: string): R => {
      if (value !== "") sent.header.set("authorization", `Bearer ${value}`);
      return sent;
    };
    if (!request.stream) return callWithToken(token, (value) => next(withToken(request, value)));
    if (request.method.methodKind !== "server_streaming") return next(withToken(request, await tokenOf(token)));
    const messages = await Array.fromAsync(request.message);
    return openStream(token, async (value) => {
      const response = await next(withToken({ ...request, message: replay(messages) }, value));
      if (!response.stream) throw new Error("a call that streams was answered as one that does not");
      return response;
    });
  };
}

/** Opens a stream of responses. A server refuses a token before the first message: with the head or, over gRPC, at the end. */
async function openStream(
  token: BearerToken,
  open: (token: string) => Promise<StreamResponse>,
): Promise<StreamResponse> {
  let sent = "";
  const response = await callWithToken(token, (value) => {
    sent = value;
    return open(value);
  });
  const rest = (refused?: string): string | Promise<string> =>
    refused === undefined || typeof token === "string" ? sent : token(refused);
  const message = streamWithToken(rest, async function* (value) {
    yield* value === sent ? response.message : (await open(value)).message;
  });
  return { ...response, message };
}

async function* replay<T>(messages: readonly T[]): AsyncIterable<T> {
  yield* messages;
}
