import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type RestCall, type RestOperation, restOperation } from "@devtool/schema/a2a-v03";
import type { EndpointOptions } from "../a2a/endpoint.ts";
import { connectErrorOfRest } from "../a2a/errors.ts";
import { HttpJsonEndpoint } from "../a2a/http-json-endpoint.ts";
import { decodeAnswer, encodeCall } from "../a2a/peer.ts";
import type { Frame, RpcEndpoint } from "../a2a/rpc-endpoint.ts";

/** A2A 0.3 over HTTP+JSON: its methods by their names in JSON-RPC, each as a request to a path of its own (section 3.5.3). */
export function restEndpoint(options: EndpointOptions, headers: Readonly<Record<string, string>>): RpcEndpoint {
  const endpoint = new HttpJsonEndpoint({ ...options, headers, errorIn: connectErrorOfRest });
  return {
    async call(method, params, signal) {
      const { operation, call, otherCall } = asked(method, params);
      const json = await endpoint.call(call, signal).catch((reason: unknown) => {
        if (otherCall && isUnusable(reason)) return endpoint.call(otherCall, signal);
        throw reason;
      });
      return decodeAnswer(() => operation.decodeResult(json));
    },
    async *stream({ method, params, lastEventId }, signal) {
      const { operation, call, otherCall } = asked(method, params);
      const open = (one: RestCall): AsyncIterable<Frame> => endpoint.stream({ call: one, lastEventId }, signal);
      for await (const { result, id } of otherCall ? firstToOpen(open, call, otherCall) : open(call)) {
        yield { result: decodeAnswer(() => operation.decodeResult(result)), id };
      }
    },
  };
}

function asked(method: string, params: JsonObject): Asked {
  return encodeCall(() => {
    const operation = restOperation(method);
    return { operation, call: operation.encodeCall(params), otherCall: operation.encodeOtherCall?.(params) };
  });
}

/**
 * Opens a stream by one call, or by another when the server does not know the first: for `tasks/resubscribe` some have GET
 * and some POST, and take what they do not know for a task that is missing. Throws what the first call failed with.
 */
async function* firstToOpen(
  open: (call: RestCall) => AsyncIterable<Frame>,
  call: RestCall,
  otherCall: RestCall,
): AsyncIterable<Frame> {
  let frames = 0;
  const counted = async function* (one: RestCall): AsyncIterable<Frame> {
    for await (const frame of open(one)) {
      frames++;
      yield frame;
    }
  };
  try {
    yield* counted(call);
  } catch (reason) {
    if (frames > 0 || !MISUNDERSTOOD.has(ConnectError.from(reason).code)) throw reason;
    try {
      yield* counted(otherCall);
    } catch (otherReason) {
      throw frames > 0 ? otherReason : reason;
    }
  }
}

const MISUNDERSTOOD: ReadonlySet<Code> = new Set([Code.NotFound, Code.Unimplemented, Code.InvalidArgument]);

/** Whether the server says that it cannot use the parameters. */
function isUnusable(reason: unknown): boolean {
  return ConnectError.from(reason).code === Code.InvalidArgument;
}

interface Asked {
  readonly operation: RestOperation;
  readonly call: RestCall;
  readonly otherCall: RestCall | undefined;
}
