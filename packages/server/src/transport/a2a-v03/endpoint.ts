import type { JsonValue } from "@bufbuild/protobuf";
import { mistyped } from "@devtool/schema";
import { JsonRpcCode } from "@devtool/schema/a2a-v03";
import { isObject } from "@devtool/schema/json";
import { quoted } from "../../errors.ts";
import type { MethodCall, MethodDialect } from "../a2a/method.ts";
import type { Answered } from "../http/answer.ts";
import type { Heartbeats } from "../http/heartbeats.ts";
import { JsonRpcFailure } from "../http/json-rpc.ts";
import type { JsonRpcDialect } from "../http/json-rpc-dialect.ts";
import type { HttpRequest } from "../http/route.ts";
import { assertExtension, openCall } from "./call.ts";
import type { Operation } from "./operation.ts";
import type { A2aV03ServiceOptions } from "./options.ts";

/** What the routes of A2A 0.3 need. */
export interface A2aV03RoutesOptions extends A2aV03ServiceOptions {
  /** The agent that calls are addressed to here. Default: none of several. */
  readonly agent?: string;
  /** Maximum size of a request body in bytes. */
  readonly maxRequestBytes: number;
  /** The keep-alive comments of streams. */
  readonly heartbeats: Heartbeats;
  /** Aborts when the server stops: ends the streams that have no end of their own. */
  readonly shutdown: AbortSignal;
  readonly onError: (reason: unknown) => void;
  /** The other versions of A2A that share the endpoint of JSON-RPC; each gets the requests that it takes. */
  readonly versions?: readonly JsonRpcDialect[];
  /** The dialects that are spoken in the methods of A2A 0.3. */
  readonly dialects?: readonly MethodDialect[];
}

/** What both bindings answer with: the methods by their names in JSON-RPC. */
export interface Endpoint extends A2aV03RoutesOptions {
  readonly operations: ReadonlyMap<string, Operation>;
  readonly textOf: MethodCall["textOf"];
}

/** One call of a method, whichever binding it came by. */
export interface NamedCall {
  readonly method: string;
  readonly params: JsonValue | undefined;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
}

/** Calls a method. Throws a `JsonRpcFailure` when there is no such method. */
export async function callMethod(
  request: HttpRequest,
  endpoint: Endpoint,
  { method: name, params, signal }: NamedCall,
): Promise<Answered> {
  const { operations, dialects = [], agent = "", textOf, extensionRequired, handler } = endpoint;
  const operation = operations.get(name);
  if (!operation) throw unknownMethod(name, operations);
  if (params !== undefined && !isObject(params)) throw mistyped("params", params, "an object");
  const call = openCall(request, { operation, params, agent, textOf, signal });
  if (extensionRequired) await assertExtension(handler, name, call);
  if (call.view === "extension") call.nameExtension();
  const dialect = dialects.find(({ takes }) => takes(call));
  const answer = await (dialect ? dialect.answer(name, call, operation.run) : operation.run(call));
  return { answer, headers: () => call.context.answerHeaders };
}

function unknownMethod(method: string, operations: ReadonlyMap<string, Operation>): JsonRpcFailure {
  const known = [...operations.keys()].join(", ");
  return new JsonRpcFailure(`method ${quoted(method)} does not exist: choose ${known}`, JsonRpcCode.METHOD_NOT_FOUND);
}
