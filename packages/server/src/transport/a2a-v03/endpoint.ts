import type { JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { mistyped } from "@devtool/schema";
import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { quoted } from "../../errors.ts";
import type { Answer } from "../a2a/answer.ts";
import { JsonRpcFailure } from "../a2a/json-rpc.ts";
import type { MethodCall, MethodDialect } from "../a2a/method.ts";
import type { DialectServices } from "../dialect.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import { assertExtension, openCall } from "./call.ts";
import type { Operation } from "./operation.ts";

/** Dependencies of both bindings. */
export interface A2aV03Endpoint extends DialectServices {
  /** The operations by the name of their method in JSON-RPC. */
  readonly operations: ReadonlyMap<string, Operation>;

  readonly encodeEvent: MethodCall["encodeEvent"];

  /** Other forms of A2A 0.3. Each answers the calls that it takes. */
  readonly forms: readonly MethodDialect[];
}

/** A method call, as a binding has read it. */
export interface NamedCall {
  readonly method: string;

  readonly params: JsonValue | undefined;
}

/**
 * Calls a method. Throws a `JsonRpcFailure` for a method that does not exist.
 */
export async function callMethod(
  routed: RoutedCall,
  endpoint: A2aV03Endpoint,
  { method: name, params }: NamedCall,
): Promise<Answer> {
  const { operations, forms, encodeEvent, about, handler } = endpoint;
  const operation = operations.get(name);
  if (!operation) {
    const message = `method ${quoted(name)} does not exist: choose ${[...operations.keys()].join(", ")}`;
    throw new JsonRpcFailure(message, JsonRpcCode.METHOD_NOT_FOUND);
  }
  const observed = handler.observe(operation.rpcName, routed.context);
  try {
    if (params !== undefined && !isObject(params)) {
      throw mistyped("params", params, "an object");
    }
    const call = openCall(routed, { name, params, encodeEvent });
    if (about.extensionRequired) await assertExtension(handler, name, call);
    if (call.view === "extension") call.nameExtension();
    const form = forms.find(({ takes }) => takes(call));
    const answer = form
      ? await form.answer(name, call, operation.run)
      : await operation.run(call);
    if (answer.case === "stream") return { ...answer, observed };
    observed.succeed();
    return answer;
  } catch (reason) {
    observed.fail(reason);
    throw reason;
  }
}
