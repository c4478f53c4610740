import { create } from "@bufbuild/protobuf";
import {
  decodeA2aJson,
  encodeA2aJson,
  StreamResponseSchema,
} from "@devtool/schema/a2a-v1";
import type { JsonRpcEndpoint } from "../a2a/json-rpc-endpoint.ts";
import { decodeAnswer } from "../a2a/wire.ts";
import type { A2aBinding } from "./binding.ts";

/**
 * Creates the JSON-RPC binding of A2A 1.0. Methods have the names of the proto
 * service.
 */
export function createJsonRpcBinding(endpoint: JsonRpcEndpoint): A2aBinding {
  return {
    async call(method, request, signal) {
      const params = encodeA2aJson(method.input, create(method.input, request));
      const result = await endpoint.call(method.name, params, signal);
      return decodeAnswer(() => decodeA2aJson(method.output, result ?? {}));
    },
    async *stream(method, { request, lastEventId }, signal) {
      const params = encodeA2aJson(method.input, create(method.input, request));
      for await (const { result, id } of endpoint.stream(
        { method: method.name, params, lastEventId },
        signal,
      )) {
        yield {
          response: decodeAnswer(() =>
            decodeA2aJson(StreamResponseSchema, result),
          ),
          id,
        };
      }
    },
  };
}
