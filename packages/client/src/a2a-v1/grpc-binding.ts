import { toJson } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { defined } from "@devtool/internal/json";
import { SEQUENCE_URI } from "@devtool/schema";
import type { CallHeaders } from "../a2a/endpoint.ts";
import { errorFromGrpc } from "../a2a/errors.ts";
import {
  type BearerToken,
  bearerHeader,
  callWithToken,
  streamWithToken,
} from "../bearer-token.ts";
import type { A2aBinding } from "./binding.ts";

/**
 * Creates the gRPC binding of A2A 1.0 over a transport that speaks gRPC. The
 * ids of its events are in their metadata, where the agent is a devtool server:
 * A2A has no field for them.
 */
export function createGrpcBinding(
  transport: Transport,
  headers: CallHeaders,
  token: BearerToken,
): A2aBinding {
  return {
    async call(method, request, signal) {
      try {
        return await callWithToken(token, async (value) => {
          const all = { ...headers, ...bearerHeader(value) };
          const { message } = await transport.unary(
            method,
            signal,
            undefined,
            all,
            request,
          );
          return toJson(method.output, message);
        });
      } catch (reason) {
        throw errorFromGrpc(reason);
      }
    },
    async *stream(method, { request, lastEventId }, signal) {
      try {
        yield* streamWithToken(token, async function* (value) {
          const resume = defined({ "last-event-id": lastEventId });
          const all = { ...headers, ...resume, ...bearerHeader(value) };
          const { message } = await transport.stream(
            method,
            signal,
            undefined,
            all,
            createAsyncIterable([request]),
          );
          for await (const response of message) {
            const sequence = response.payload.value?.metadata?.[SEQUENCE_URI];
            yield {
              result: toJson(method.output, response),
              id: typeof sequence === "string" ? sequence : undefined,
            };
          }
        });
      } catch (reason) {
        throw errorFromGrpc(reason);
      }
    },
  };
}
