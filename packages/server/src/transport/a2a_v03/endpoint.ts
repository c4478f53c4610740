import type { JsonValue } from "@bufbuild/protobuf";
import { EXTENSION_URI } from "@devtool/schema";
import { JsonRpcCode, type JsonRpcError } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { callerOf } from "../auth/admitted.ts";
import type { CoderAgentTasks } from "../coder_agent/coder-agent-tasks.ts";
import type { JsonRpcDialect } from "../json-rpc-dialect.ts";
import { type HttpRequest, headerOf } from "../route.ts";
import { activationOf } from "./activation.ts";
import type { CardOptions } from "./card.ts";
import { JsonRpcFailure, jsonRpcErrorFrom } from "./errors.ts";
import type { Answer, Method } from "./methods.ts";

/** What the routes of A2A 0.3 need. */
export interface A2aV03RoutesOptions extends CardOptions {
  readonly handler: RequestHandler;
  readonly baseUrl: string;
  /** A request may have so many bytes. */
  readonly maxRequestBytes: number;
  /** A stream says that it lives each so many milliseconds. */
  readonly heartbeatMs: number;
  /** Aborts when the server stops: ends the streams that have no end of their own. */
  readonly shutdown: AbortSignal;
  readonly onError: (reason: unknown) => void;
  /** The versions of A2A that share the endpoint of JSON-RPC; each gets the requests that it takes. */
  readonly dialects?: readonly JsonRpcDialect[];
  /** The tasks that are talked about in the dialect of Gemini CLI's own server; without it nobody gets that. */
  readonly coderAgent?: CoderAgentTasks;
}

/** What both bindings answer with: the methods by their names in JSON-RPC. */
export interface Endpoint extends A2aV03RoutesOptions {
  readonly methods: ReadonlyMap<string, Method>;
}

/** One call of a method, whichever binding it came by. */
export interface MethodCall {
  readonly method: string;
  readonly params: JsonValue | undefined;
  /** Aborts when the client is gone or the server stops. */
  readonly signal: AbortSignal;
}

/** What a method answered, and the headers that say which extension is active. */
export interface Answered {
  readonly answer: Answer;
  readonly headers: Readonly<Record<string, string>>;
}

/** Calls a method in the view that the request asks for (CARD-3). Throws a `JsonRpcFailure` when there is no such method. */
export async function callMethod(
  request: HttpRequest,
  { methods, extensionRequired }: Endpoint,
  { method: name, params, signal }: MethodCall,
): Promise<Answered> {
  const method = methods.get(name);
  if (!method) throw unknownMethod(name, methods);
  const activation = activationOf(request, params);
  if (!activation && extensionRequired) throw extensionNeeded();
  const answer = await method({
    params,
    view: activation ? "extension" : "plain",
    lastEventId: lastEventIdOf(request),
    takesStream: headerOf(request, "accept").includes("text/event-stream"),
    ...callerOf(request),
    signal,
  });
  return { answer, headers: activation ?? {} };
}

/** Throws an `UnsupportedMediaType` when a request does not say that its body is JSON. */
export function assertJson(request: HttpRequest): void {
  const type = headerOf(request, "content-type");
  if (/^application\/(json|a2a\+json)\s*(;|$)/i.test(type)) return;
  throw new UnsupportedMediaType(
    `content type ${JSON.stringify(type)} is not taken: send application/json`,
    JsonRpcCode.INVALID_REQUEST,
  );
}

/** A body that is no JSON; apart from other failures, because HTTP has a status for it. */
export class UnsupportedMediaType extends JsonRpcFailure {}

/** The error that a client gets for what was thrown; what is no fault of the client is told to the operator. */
export function reported(reason: unknown, { onError }: Endpoint): JsonRpcError {
  const error = jsonRpcErrorFrom(reason);
  if (error.code === JsonRpcCode.INTERNAL_ERROR) onError(reason);
  return error;
}

function unknownMethod(method: string, methods: ReadonlyMap<string, Method>): JsonRpcFailure {
  const known = [...methods.keys()].join(", ");
  return new JsonRpcFailure(
    `method ${JSON.stringify(method)} does not exist: choose ${known}`,
    JsonRpcCode.METHOD_NOT_FOUND,
  );
}

function extensionNeeded(): JsonRpcFailure {
  const how = `name ${EXTENSION_URI} in the header X-A2A-Extensions`;
  return new JsonRpcFailure(`this agent needs the development-tool extension: ${how}`, JsonRpcCode.INVALID_REQUEST);
}

/** The position that a client resumes from (STREAM-3); throws when it is no sequence that we gave. */
function lastEventIdOf(request: HttpRequest): bigint | undefined {
  const id = headerOf(request, "last-event-id");
  if (id === "") return undefined;
  if (/^\d{1,18}$/.test(id)) return BigInt(id);
  throw new DevtoolError(
    `Last-Event-ID ${JSON.stringify(id)} is no sequence: send the id of an event`,
    Code.InvalidArgument,
    {
      details: { field: "Last-Event-ID", value: id },
    },
  );
}
