import { create } from "@bufbuild/protobuf";
import { encodeA2aJson } from "@devtool/schema/a2a-v1";
import type { JsonRpcEndpoint } from "../a2a/json-rpc-endpoint.ts";
import type { A2aBinding } from "./binding.ts";

/**
 * Creates the JSON-RPC binding of A2A 1.0. Methods have the names of the proto
 * service.
 */
export function createJsonRpcBinding(endpoint: JsonRpcEndpoint): A2aBinding {
  return {
    async call(method, request, signal) {
      const params = encodeA2aJson(method.input, create(method.input, request));
      return endpoint.call(method.name, params, signal);
    },
    stream(method, { request, lastEventId }, signal) {
      const params = encodeA2aJson(method.input, create(method.input, request));
      return endpoint.stream(
        { method: method.name, params, lastEventId },
        signal,
      );
    },
  };
}
