import { create, type DescService, type JsonValue } from "@bufbuild/protobuf";
import {
  createServiceImplSpec,
  type HandlerContext,
  type MethodImplSpec,
  type ServiceImpl,
} from "@connectrpc/connect";
import { isObject } from "@devtool/internal/json";
import { mistyped } from "@devtool/schema";
import {
  decodeA2aJson,
  encodeA2aJson,
  StreamResponseSchema,
} from "@devtool/schema/a2a-v1";
import { callKeys } from "../../handler/caller.ts";
import type { Answer } from "../a2a/answer.ts";
import type { Frame } from "../http/answer.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import { frameFrom } from "./frames.ts";
import { versionOf } from "./version.ts";

/** A method of A2A 1.0, as the bindings call it whose messages are JSON. */
export interface Operation {
  readonly spec: MethodImplSpec;

  /** Decodes the request, runs the method, and encodes its answer. */
  run(request: JsonValue, context: HandlerContext): Promise<Answer>;
}

/**
 * Returns the operations of a service by the names that its descriptor gives
 * them.
 */
export function operationsOf<T extends DescService>(
  desc: T,
  service: ServiceImpl<T>,
): [string, Operation][] {
  const { methods } = createServiceImplSpec<T>(desc, service);
  return Object.values(methods).map((spec) => [
    spec.method.name,
    { spec, run: (request, context) => runMethod(spec, request, context) },
  ]);
}

async function runMethod(
  spec: MethodImplSpec,
  json: JsonValue,
  context: HandlerContext,
): Promise<Answer> {
  if (!isObject(json)) throw mistyped("params", json, "an object");
  const { input, output, name } = spec.method;
  const request = decodeA2aJson(input, json);
  switch (spec.kind) {
    case "unary": {
      const response = create(output, await spec.impl(request, context));
      return { case: "result", value: encodeA2aJson(output, response) };
    }
    case "server_streaming": {
      const responses = spec.impl(request, context);
      const frames = async function* (): AsyncIterable<Frame> {
        for await (const item of responses) {
          yield frameFrom(create(StreamResponseSchema, item));
        }
      };
      return { case: "stream", value: frames() };
    }
    default:
      throw new TypeError(
        `${name} streams from the client: A2A has no such method`,
      );
  }
}

/**
 * The protocol name of contexts in which bindings run methods whose messages
 * are JSON: that of the calls of routes.
 */
export const JSON_PROTOCOL = "http";

/**
 * Returns the context in which a request of a binding runs a method. The
 * version may also come from its query.
 */
export function contextOf(
  call: RoutedCall,
  binding: "jsonrpc" | "http+json",
): HandlerContext {
  call.context.requestHeader.set("a2a-version", versionOf(call));
  call.context.values.set(callKeys.binding, `a2a-1.0/${binding}`);
  return call.context;
}
