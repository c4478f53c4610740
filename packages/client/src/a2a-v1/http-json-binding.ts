import {
  create,
  type DescMessage,
  type DescMethod,
  type MessageInitShape,
} from "@bufbuild/protobuf";
import {
  encodeA2aJson,
  type HttpCall,
  httpCallOf,
} from "@devtool/schema/a2a-v1";
import { restOperation } from "@devtool/schema/a2a-v03";
import type { HttpJsonEndpoint } from "../a2a/http-json-endpoint.ts";
import type { RpcEndpoint } from "../a2a/rpc-endpoint.ts";
import { decodeAnswer, encodeCall } from "../a2a/wire.ts";
import type { A2aBinding } from "./binding.ts";

/**
 * Creates the HTTP+JSON binding of A2A 1.0 over an endpoint that reads errors
 * as 1.0 writes them. The `google.api.http` annotations of the proto give the
 * verb and path of each method.
 */
export function createHttpJsonBinding(endpoint: HttpJsonEndpoint): A2aBinding {
  return {
    async call(method, request, signal) {
      return endpoint.call(encodeHttpCall(method, request), signal);
    },
    stream(method, { request, lastEventId }, signal) {
      const call = encodeHttpCall(method, request);
      return endpoint.stream({ call, lastEventId }, signal);
    },
  };
}

/**
 * Calls the slash-command methods over HTTP+JSON (CMD-1). Their paths are those
 * of A2A 0.3 without `/v1`.
 */
export function httpJsonCommandCalls(
  endpoint: HttpJsonEndpoint,
): Pick<RpcEndpoint, "call"> {
  return {
    async call(method, params, signal) {
      const operation = restOperation(method);
      const { path, ...call } = encodeCall(() => operation.encodeCall(params));
      const json = await endpoint.call(
        { ...call, path: path.replace(/^\/v1/, "") },
        signal,
      );
      return decodeAnswer(() => operation.decodeResult(json));
    },
  };
}

function encodeHttpCall<I extends DescMessage>(
  method: DescMethod & { readonly input: I },
  request: MessageInitShape<I>,
): HttpCall {
  return encodeCall(() =>
    httpCallOf(
      method,
      encodeA2aJson(method.input, create(method.input, request)),
    ),
  );
}
