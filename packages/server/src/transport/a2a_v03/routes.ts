import { EXTENSION_URI } from "@devtool/schema";
import { JsonRpcCode, type JsonRpcError } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { BodyTooLarge, readBody } from "../body.ts";
import { type HttpRequest, type HttpResponse, headerOf, type Route, send } from "../route.ts";
import { activationOf } from "./activation.ts";
import type { Call } from "./call.ts";
import { type CardOptions, cardRoutes } from "./card.ts";
import { ClientGone } from "./client-gone.ts";
import { JsonRpcFailure, jsonRpcErrorFrom } from "./errors.ts";
import { errorText, idText, parseBody, type RpcRequest, readRequest, resultText } from "./json-rpc.ts";
import { createMethods, type Frame, type Method } from "./methods.ts";
import { SseStream } from "./sse.ts";

/** What the routes need. */
export interface A2aV03RoutesOptions extends CardOptions {
  readonly handler: RequestHandler;
  readonly baseUrl: string;
  /** Who the holder of the token is. */
  readonly principal: string;
  /** A request may have so many bytes. */
  readonly maxRequestBytes: number;
  /** A stream says that it lives each so many milliseconds. */
  readonly heartbeatMs: number;
  /** Aborts when the server stops: ends the streams that have no end of their own. */
  readonly shutdown: AbortSignal;
  readonly onError: (reason: unknown) => void;
}

/** A2A 0.3: the agent card, and JSON-RPC with server-sent events at `/` and `/a2a`. */
export function a2aV03Routes(options: A2aV03RoutesOptions): Route[] {
  const methods = createMethods(options.handler);
  const endpoint: Route = {
    name: "POST /",
    access: "token",
    matches: (method, path) => method === "POST" && ENDPOINTS.has(path),
    handle: (request, response) => answer(request, response, { ...options, methods }),
  };
  return [...cardRoutes(options.baseUrl, options), endpoint];
}

const ENDPOINTS: ReadonlySet<string> = new Set(["/", "/a2a", "/a2a/"]);

interface Endpoint extends A2aV03RoutesOptions {
  readonly methods: ReadonlyMap<string, Method>;
}

async function answer(request: HttpRequest, response: HttpResponse, endpoint: Endpoint): Promise<void> {
  let id = "null";
  try {
    assertJson(request);
    const json = parseBody(await readBody(request, endpoint.maxRequestBytes));
    id = idText(json);
    await run(request, response, { ...endpoint, id, rpc: readRequest(json) });
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    send(response, statusOf(reason), { body: errorText(id, reported(reason, endpoint)) });
  }
}

function assertJson(request: HttpRequest): void {
  const type = headerOf(request, "content-type");
  if (/^application\/(json|a2a\+json)\s*(;|$)/i.test(type)) return;
  throw new UnsupportedMediaType(
    `content type ${JSON.stringify(type)} is not taken: send application/json`,
    JsonRpcCode.INVALID_REQUEST,
  );
}

class UnsupportedMediaType extends JsonRpcFailure {}

/** JSON-RPC answers its errors with 200; what keeps a body from being read is HTTP's own. */
function statusOf(reason: unknown): number {
  if (reason instanceof UnsupportedMediaType) return 415;
  return reason instanceof BodyTooLarge ? 413 : 200;
}

function reported(reason: unknown, { onError }: Endpoint): JsonRpcError {
  const error = jsonRpcErrorFrom(reason);
  if (error.code === JsonRpcCode.INTERNAL_ERROR) onError(reason);
  return error;
}

interface Run extends Endpoint {
  readonly id: string;
  readonly rpc: RpcRequest;
}

async function run(request: HttpRequest, response: HttpResponse, endpoint: Run): Promise<void> {
  const { rpc, id, methods } = endpoint;
  const method = methods.get(rpc.method);
  if (!method) throw unknownMethod(rpc.method, methods);
  const activation = activationOf(request, rpc.params);
  if (!activation && endpoint.extensionRequired) throw extensionNeeded();
  using gone = new ClientGone(response, endpoint.shutdown);
  const answered = await method({
    params: rpc.params,
    view: activation ? "extension" : "plain",
    lastEventId: lastEventIdOf(request),
    takesStream: headerOf(request, "accept").includes("text/event-stream"),
    principal: endpoint.principal,
    signal: gone.signal,
  } satisfies Call);
  const headers = activation ?? {};
  if (answered.case === "stream") return stream(response, answered.value, { ...endpoint, headers });
  send(response, 200, { body: resultText(id, JSON.stringify(answered.value)), ...headers });
}

/** Streams frames. What fails before the first is a plain error; what fails later is an error as the last frame. */
async function stream(
  response: HttpResponse,
  frames: AsyncIterable<Frame>,
  run: Run & { readonly headers: Readonly<Record<string, string>> },
): Promise<void> {
  const iterator = frames[Symbol.asyncIterator]();
  const first = await iterator.next();
  using sse = new SseStream(response, run.headers, run.heartbeatMs);
  try {
    for (let next = first; !next.done && !response.destroyed; next = await iterator.next()) {
      const full = sse.send(resultText(run.id, next.value.result), next.value.id);
      if (full) await full;
    }
  } catch (reason) {
    // When the server stops, the stream breaks off: its client resumes, where a good end would say that all was told.
    if (run.shutdown.aborted) return void response.destroy();
    if (!response.destroyed) await sse.send(errorText(run.id, reported(reason, run)));
  } finally {
    await iterator.return?.();
  }
  await sse.end();
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
