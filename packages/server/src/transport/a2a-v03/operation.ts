import {
  type DescService,
  getOption,
  type JsonValue,
} from "@bufbuild/protobuf";
import { json_rpc_method } from "@devtool/schema/a2a-v03";
import type { Method, MethodCall } from "../a2a/method.ts";
import type { Frame } from "../http/answer.ts";

/** A method of A2A 0.3 or of the extension, as both bindings call it. */
export interface Operation {
  /** The name of the method in JSON-RPC. */
  readonly name: string;

  /** The name of the method in its service. */
  readonly rpcName: string;

  /** Whether the answer is a stream, for clients that accept one. */
  readonly isStreaming: boolean;

  readonly run: Method;
}

/** The implementation of a service: a function for each of its methods. */
export type Implementation<T extends DescService> = {
  readonly [K in keyof T["method"]]: Method;
};

/**
 * Returns the operations of a service by the names that its descriptor gives
 * them in JSON-RPC.
 */
export function operationsOf<T extends DescService>(
  service: T,
  implementation: Implementation<T>,
): ReadonlyMap<string, Operation> {
  const runs = new Map<string, Method>(Object.entries(implementation));
  return new Map(
    service.methods.map((method) => {
      const run = runs.get(method.localName);
      if (!run) {
        throw new TypeError(`${method.name} of A2A 0.3 is not implemented`);
      }
      const name = getOption(method, json_rpc_method);
      const isStreaming = method.methodKind === "server_streaming";
      return [name, { name, rpcName: method.name, isStreaming, run }];
    }),
  );
}

/**
 * Makes a method that answers with a single result. `decode` reads its
 * parameters.
 */
export function unary<T>(
  decode: (params: JsonValue | undefined) => T,
  run: (request: T, call: MethodCall) => Promise<JsonValue>,
): Method {
  return async (call) => ({
    case: "result",
    value: await run(decode(call.params), call),
  });
}

/**
 * Makes a method that answers with a stream.
 *
 * A refusal is thrown before the stream is returned.
 */
export function streaming<T>(
  decode: (params: JsonValue | undefined) => T,
  run: (request: T, call: MethodCall) => Promise<AsyncIterable<Frame>>,
): Method {
  return async (call) => ({
    case: "stream",
    value: await run(decode(call.params), call),
  });
}
