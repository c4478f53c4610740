import { create, type DescMessage, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf";
import { decodeA2aJson, encodeA2aJson, type HttpCall, httpCallOf, StreamResponseSchema } from "@devtool/schema/a2a-v1";
import { restOperation } from "@devtool/schema/a2a-v03";
import type { EndpointOptions } from "../a2a/endpoint.ts";
import { connectErrorOfStatus } from "../a2a/errors.ts";
import { HttpJsonEndpoint } from "../a2a/http-json-endpoint.ts";
import { decodeAnswer, encodeCall } from "../a2a/peer.ts";
import type { RpcEndpoint } from "../a2a/rpc-endpoint.ts";
import type { A2aBinding } from "./binding.ts";

/** A2A 1.0 over HTTP+JSON: its methods are called as the annotations of its proto say. */
export function httpJsonBinding(endpoint: HttpJsonEndpoint): A2aBinding {
  return {
    async call(method, request, signal) {
      const json = await endpoint.call(callOf(method, request), signal);
      return decodeAnswer(() => decodeA2aJson(method.output, json ?? {}));
    },
    async *stream(method, { request, lastEventId }, signal) {
      for await (const { result, id } of endpoint.stream({ call: callOf(method, request), lastEventId }, signal)) {
        yield { response: decodeAnswer(() => decodeA2aJson(StreamResponseSchema, result)), id };
      }
    },
  };
}

/** An endpoint of A2A 1.0 over HTTP+JSON. */
export function httpJsonEndpoint(
  options: EndpointOptions,
  headers: Readonly<Record<string, string>>,
): HttpJsonEndpoint {
  return new HttpJsonEndpoint({ ...options, headers, errorIn: connectErrorOfStatus });
}

/** The methods of slash commands there (CMD-1): at the paths that they have in A2A 0.3, without `/v1`. */
export function httpJsonCommands(endpoint: HttpJsonEndpoint): Pick<RpcEndpoint, "call"> {
  return {
    async call(method, params, signal) {
      const operation = restOperation(method);
      const { path, ...call } = encodeCall(() => operation.encodeCall(params));
      const json = await endpoint.call({ ...call, path: path.replace(/^\/v1/, "") }, signal);
      return decodeAnswer(() => operation.decodeResult(json));
    },
  };
}

function callOf<I extends DescMessage>(
  method: DescMethod & { readonly input: I },
  request: MessageInitShape<I>,
): HttpCall {
  return encodeCall(() => httpCallOf(method, encodeA2aJson(method.input, create(method.input, request))));
}
