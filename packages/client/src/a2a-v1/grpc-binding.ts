import type { Transport } from "@connectrpc/connect";
import { connectErrorOfGrpc } from "../a2a/errors.ts";
import { type BearerToken, bearerHeader, callWithToken, streamWithToken } from "../bearer-token.ts";
import type { A2aBinding } from "./binding.ts";

/** A2A 1.0 over gRPC: its service, called over a transport that speaks gRPC. */
export function grpcBinding(
  transport: Transport,
  headers: Readonly<Record<string, string>>,
  token: BearerToken,
): A2aBinding {
  return {
    async call(method, request, signal) {
      try {
        return await callWithToken(token, async (value) => {
          const all = { ...headers, ...bearerHeader(value) };
          return (await transport.unary(method, signal, undefined, all, request)).message;
        });
      } catch (reason) {
        throw connectErrorOfGrpc(reason);
      }
    },
    async *stream(method, { request, lastEventId }, signal) {
      const resume = lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) };
      try {
        yield* streamWithToken(token, async function* (value) {
          const all = { ...headers, ...resume, ...bearerHeader(value) };
          const { message } = await transport.stream(method, signal, undefined, all, once(request));
          for await (const response of message) yield { response, id: undefined };
        });
      } catch (reason) {
        throw connectErrorOfGrpc(reason);
      }
    },
  };
}

async function* once<T>(value: T): AsyncIterable<T> {
  yield value;
}
