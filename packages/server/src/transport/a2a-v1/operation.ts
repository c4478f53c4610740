import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  type JsonValue,
  type Message,
} from "@bufbuild/protobuf";
import { createServiceImplSpec, type HandlerContext, type MethodImplSpec, type ServiceImpl } from "@connectrpc/connect";
import { mistyped } from "@devtool/schema";
import { decodeA2aJson, encodeA2aJson, StreamResponseSchema } from "@devtool/schema/a2a-v1";
import { isObject } from "@devtool/schema/json";
import type { Answer, Frame } from "../http/answer.ts";
import { RequestContext } from "../http/request-context.ts";
import type { HttpRequest } from "../http/route.ts";
import { frameOf } from "./frames.ts";
import { versionOf } from "./version.ts";

/** A method of A2A 1.0 for the bindings whose messages are JSON. */
export interface Operation {
  readonly spec: MethodImplSpec;
  /** Reads the request, runs the method, writes what it answers. */
  run(request: JsonValue, context: HandlerContext): Promise<Answer>;
}

/** The methods of a service by their names, as the descriptor has them. */
export function operationsOf<T extends DescService>(desc: T, service: ServiceImpl<T>): [string, Operation][] {
  const { methods } = createServiceImplSpec<T>(desc, service);
  return Object.values(methods).map((spec) => [
    spec.method.name,
    { spec, run: (request, context) => run(spec, request, context) },
  ]);
}

async function run(spec: MethodImplSpec, json: JsonValue, context: HandlerContext): Promise<Answer> {
  if (!isObject(json)) throw mistyped("params", json, "an object");
  const request = decodeA2aJson(spec.method.input, json);
  switch (spec.kind) {
    case "unary":
      return { case: "result", value: jsonOf(spec.method.output, await spec.impl(request, context)) };
    case "server_streaming":
      return { case: "stream", value: framesOf(spec.impl(request, context)) };
    default:
      throw new TypeError(`${spec.method.name} streams from the client: A2A has no such method`);
  }
}

function jsonOf(schema: DescMessage, message: Parameters<typeof create>[1]): JsonValue {
  const made: Message = create(schema, message);
  return encodeA2aJson(schema, made);
}

async function* framesOf(responses: AsyncIterable<object>): AsyncIterable<Frame> {
  for await (const item of responses) yield frameOf(create(StreamResponseSchema, item));
}

/** The context in which a request of HTTP runs a method. The version may stand in its query too. */
export function contextOf(
  request: HttpRequest,
  { method }: { readonly method: DescMethod },
  signal: AbortSignal,
): RequestContext {
  const headers = { ...headersOf(request), "a2a-version": versionOf(request) };
  return new RequestContext(request, { method, protocolName: "a2a-v1", signal, headers });
}

/** The headers that methods look at; one that stands there more than once has its values in one list. */
function headersOf({ headers }: HttpRequest): Record<string, string> {
  const names = ["a2a-extensions", "x-a2a-extensions", "last-event-id"];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, typeof value === "string" ? value : value.join(", ")]];
    }),
  );
}
