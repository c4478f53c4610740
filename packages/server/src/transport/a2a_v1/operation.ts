import { create, type DescMessage, type DescMethod, type JsonValue, type Message } from "@bufbuild/protobuf";
import {
  createHandlerContext,
  createServiceImplSpec,
  type HandlerContext,
  type MethodImplSpec,
  type ServiceImpl,
} from "@connectrpc/connect";
import {
  A2AService,
  decodeA2aJson,
  encodeA2aJson,
  type StreamResponse,
  StreamResponseSchema,
} from "@devtool/schema/a2a-v1";
import { contextValuesOf } from "../auth/admitted.ts";
import type { HttpRequest } from "../route.ts";
import { sequenceOf, textOf } from "./frames.ts";
import { versionOf } from "./version.ts";

/** One element of a stream as JSON text, and the sequence that a client resumes from. */
export interface Frame {
  readonly result: string;
  readonly id?: bigint;
}

/** What an operation answers: one result, or a stream of them. */
export type Answer =
  | { readonly case: "result"; readonly value: JsonValue }
  | { readonly case: "stream"; readonly value: AsyncIterable<Frame> };

/** A method of A2A 1.0 for the bindings whose messages are JSON. */
export interface Operation {
  readonly spec: MethodImplSpec;
  /** Reads the request, runs the method, writes what it answers. */
  run(request: JsonValue, context: HandlerContext): Promise<Answer>;
}

/** The methods of the service by their names, as the descriptor has them. */
export function operationsOf(service: ServiceImpl<typeof A2AService>): ReadonlyMap<string, Operation> {
  const { methods } = createServiceImplSpec<typeof A2AService>(A2AService, service);
  return new Map(
    Object.values(methods).map((spec): [string, Operation] => [
      spec.method.name,
      { spec, run: (request, context) => run(spec, request, context) },
    ]),
  );
}

async function run(spec: MethodImplSpec, json: JsonValue, context: HandlerContext): Promise<Answer> {
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
  for await (const item of responses) {
    const response: StreamResponse = create(StreamResponseSchema, item);
    const id = sequenceOf(response);
    yield { result: textOf(response), ...(id !== undefined && { id }) };
  }
}

/** The context in which a request of HTTP runs a method. The version may stand in its query too. */
export function contextOf(
  request: HttpRequest,
  { method }: { readonly method: DescMethod },
  signal: AbortSignal,
): HandlerContext {
  return createHandlerContext({
    service: method.parent,
    method,
    protocolName: "a2a-v1",
    requestMethod: request.method ?? "POST",
    url: "http://devtool.invalid/",
    requestSignal: signal,
    requestHeader: { ...headersOf(request), "a2a-version": versionOf(request) },
    contextValues: contextValuesOf(request),
  });
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
