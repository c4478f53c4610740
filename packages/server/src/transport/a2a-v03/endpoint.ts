import type { JsonValue } from "@bufbuild/protobuf";
import { mistyped } from "@devtool/schema";
import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { isObject } from "@devtool/schema/json";
import { quoted } from "../../errors.ts";
import type { MethodCall } from "../a2a/method.ts";
import type { Answered } from "../http/answer.ts";
import { JsonRpcFailure } from "../http/json-rpc.ts";
import type { HttpRequest } from "../http/route.ts";
import { assertExtension, openCall } from "./call.ts";
import type { Operation } from "./operation.ts";
import type { A2aV03RoutesOptions } from "./options.ts";

/** Dependencies of both bindings. */
export interface Endpoint extends A2aV03RoutesOptions {
  /** The operations by the name of their method in JSON-RPC. */
  readonly operations: ReadonlyMap<string, Operation>;

  readonly encodeEvent: MethodCall["encodeEvent"];
}

/** A method call, as a binding has read it. */
export interface NamedCall {
  readonly method: string;

  readonly params: JsonValue | undefined;

  /** Aborts when the client disconnects or the server stops. */
  readonly signal: AbortSignal;
}

/**
 * Calls a method. Throws a `JsonRpcFailure` for a method that does not exist.
 */
export async function callMethod(
  request: HttpRequest,
  endpoint: Endpoint,
  { method: name, params, signal }: NamedCall,
): Promise<Answered> {
  const {
    operations,
    dialects = [],
    agent,
    encodeEvent,
    extensionRequired,
    handler,
  } = endpoint;
  const operation = operations.get(name);
  if (!operation) {
    const message = `method ${quoted(name)} does not exist: choose ${[...operations.keys()].join(", ")}`;
    throw new JsonRpcFailure(message, JsonRpcCode.METHOD_NOT_FOUND);
  }
  if (params !== undefined && !isObject(params)) {
    throw mistyped("params", params, "an object");
  }
  const call = openCall(request, {
    operation,
    params,
    agent,
    encodeEvent,
    signal,
  });
  if (extensionRequired) await assertExtension(handler, name, call);
  if (call.view === "extension") call.nameExtension();
  const dialect = dialects.find(({ takes }) => takes(call));
  const answer = await (dialect
    ? dialect.answer(name, call, operation.run)
    : operation.run(call));
  return { answer, headers: () => call.context.takeAnswerHeaders() };
}
