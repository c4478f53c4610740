import { type DescMethod, type DescService, getOption, type JsonValue } from "@bufbuild/protobuf";
import { json_rpc_method } from "@devtool/schema/a2a-v03";
import type { Method, MethodCall } from "../a2a/method.ts";
import type { Frame } from "../http/answer.ts";

/** A method of A2A 0.3, or of the extension, for the bindings. */
export interface Operation {
  /** Its name in JSON-RPC. */
  readonly name: string;
  readonly method: DescMethod;
  /** Whether its answer is a stream, for a client that takes one. */
  readonly isStreaming: boolean;
  readonly run: Method;
}

/** The implementation of a service: how each of its methods is run. */
export type Implementation<T extends DescService> = { readonly [K in keyof T["method"]]: Method };

/** The methods of a service, as its descriptor has them, by their names in JSON-RPC. */
export function operationsOf<T extends DescService>(
  service: T,
  implementation: Implementation<T>,
): ReadonlyMap<string, Operation> {
  const runs = new Map<string, Method>(Object.entries(implementation));
  return new Map(
    service.methods.map((method) => {
      const run = runs.get(method.localName);
      if (!run) throw new TypeError(`${method.name} of A2A 0.3 is not implemented`);
      const name = getOption(method, json_rpc_method);
      return [name, { name, method, isStreaming: method.methodKind === "server_streaming", run }];
    }),
  );
}

/** A method that answers with one result. `decode` reads its parameters, once. */
export function unary<T>(
  decode: (params: JsonValue | undefined) => T,
  run: (request: T, call: MethodCall) => Promise<JsonValue>,
): Method {
  return async (call) => ({ case: "result", value: await run(decode(call.params), call) });
}

/** A method that answers with a stream. What is refused is thrown before the stream is returned. */
export function streaming<T>(
  decode: (params: JsonValue | undefined) => T,
  run: (request: T, call: MethodCall) => Promise<AsyncIterable<Frame>>,
): Method {
  return async (call) => ({ case: "stream", value: await run(decode(call.params), call) });
}
