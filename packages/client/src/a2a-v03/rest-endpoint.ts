import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type RestCall,
  type RestOperation,
  restOperation,
} from "@devtool/schema/a2a-v03";
import type { CallHeaders, EndpointOptions } from "../a2a/endpoint.ts";
import { errorFromHttpJsonV03 } from "../a2a/errors.ts";
import { HttpJsonEndpoint } from "../a2a/http-json-endpoint.ts";
import type { Frame, RpcEndpoint } from "../a2a/rpc-endpoint.ts";
import { decodeAnswer, encodeCall } from "../a2a/wire.ts";

/**
 * Creates the endpoint of A2A 0.3 over HTTP+JSON: methods keep their JSON-RPC
 * names, and each becomes a request to a path of its own (section 3.5.3).
 */
export function createRestEndpoint(
  options: EndpointOptions,
  headers: CallHeaders,
): RpcEndpoint {
  const endpoint = new HttpJsonEndpoint({
    ...options,
    headers,
    errorFrom: errorFromHttpJsonV03,
  });
  return {
    async call(method, params, signal) {
      const { operation, call, otherCall } = encodeRestCall(method, params);
      const json = await endpoint
        .call(call, signal)
        .catch((reason: unknown) => {
          const { code } = ConnectError.from(reason);
          if (otherCall && code === Code.InvalidArgument) {
            return endpoint.call(otherCall, signal);
          }
          throw reason;
        });
      return decodeAnswer(() => operation.decodeResult(json));
    },
    async *stream({ method, params, lastEventId }, signal) {
      const { operation, call, otherCall } = encodeRestCall(method, params);
      const open = (one: RestCall): AsyncIterable<Frame> =>
        endpoint.stream({ call: one, lastEventId }, signal);
      for await (const { result, ...frame } of otherCall
        ? openEither(open, call, otherCall)
        : open(call)) {
        yield {
          ...frame,
          result: result && decodeAnswer(() => operation.decodeResult(result)),
        };
      }
    },
  };
}

/**
 * A method as a request. `otherCall` is the form that some SDKs have instead.
 */
interface EncodedCall {
  readonly operation: RestOperation;
  readonly call: RestCall;
  readonly otherCall: RestCall | undefined;
}

function encodeRestCall(method: string, params: JsonObject): EncodedCall {
  return encodeCall(() => {
    const operation = restOperation(method);
    return {
      operation,
      call: operation.encodeCall(params),
      otherCall: operation.encodeOtherCall?.(params),
    };
  });
}

/**
 * The codes that an unknown path or verb may have. For `tasks/resubscribe`,
 * some servers have GET and some POST, and report the other one as a missing
 * task.
 */
const MISUNDERSTOOD: ReadonlySet<Code> = new Set([
  Code.NotFound,
  Code.Unimplemented,
  Code.InvalidArgument,
]);

/**
 * Opens a stream by one call, or by the other if the server does not understand
 * the first. If both fail, throws the error of the first.
 */
async function* openEither(
  open: (call: RestCall) => AsyncIterable<Frame>,
  call: RestCall,
  otherCall: RestCall,
): AsyncIterable<Frame> {
  let isOpen = false;
  const openNoting = async function* (one: RestCall): AsyncIterable<Frame> {
    for await (const frame of open(one)) {
      isOpen = true;
      yield frame;
    }
  };
  try {
    yield* openNoting(call);
  } catch (reason) {
    if (isOpen || !MISUNDERSTOOD.has(ConnectError.from(reason).code)) {
      throw reason;
    }
    try {
      yield* openNoting(otherCall);
    } catch (otherReason) {
      throw isOpen ? otherReason : reason;
    }
  }
}
