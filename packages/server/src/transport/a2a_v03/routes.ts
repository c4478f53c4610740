import { BodyTooLarge, readBody } from "../body.ts";
import { withCoderAgent } from "../coder_agent/methods.ts";
import { type HttpRequest, type HttpResponse, type Route, send } from "../route.ts";
import { ClientGone } from "./client-gone.ts";
import {
  type A2aV03RoutesOptions,
  assertJson,
  callMethod,
  type Endpoint,
  reported,
  UnsupportedMediaType,
} from "./endpoint.ts";
import { errorText, idText, parseBody, type RpcRequest, readRequest, resultText } from "./json-rpc.ts";
import { createMethods, type Frame } from "./methods.ts";
import { restRoute } from "./rest.ts";
import { streamFrames } from "./stream-frames.ts";

export type { A2aV03RoutesOptions } from "./endpoint.ts";

/** A2A 0.3: JSON-RPC with server-sent events at `/` and `/a2a`, and HTTP+JSON below `/v1/`. */
export function a2aV03Routes(options: A2aV03RoutesOptions): Route[] {
  const endpoint: Endpoint = {
    ...options,
    methods: withCoderAgent(createMethods(options.handler, options), options.coderAgent),
  };
  const jsonRpc: Route = {
    name: "POST /",
    access: "token",
    matches: (method, path) => method === "POST" && ENDPOINTS.has(path),
    handle: (request, response) => answer(request, response, endpoint),
  };
  return [jsonRpc, restRoute(endpoint)];
}

const ENDPOINTS: ReadonlySet<string> = new Set(["/", "/a2a", "/a2a/"]);

async function answer(request: HttpRequest, response: HttpResponse, endpoint: Endpoint): Promise<void> {
  let id = "null";
  try {
    assertJson(request);
    const json = parseBody(await readBody(request, endpoint.maxRequestBytes));
    id = idText(json);
    const rpc = readRequest(json);
    const dialect = endpoint.dialects?.find(({ takes }) => takes(request, rpc.method));
    if (dialect) return await dialect.answer(request, response, { id, ...rpc });
    await run(request, response, { ...endpoint, id, rpc });
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    if (reason instanceof UnsupportedMediaType && isRefusedElsewhere(request, response, { endpoint, reason })) return;
    send(response, statusOf(reason), { body: errorText(id, reported(reason, endpoint)) });
  }
}

interface Refusing {
  readonly endpoint: Endpoint;
  readonly reason: UnsupportedMediaType;
}

/** Each version has an error of its own for a body that is no JSON. */
function isRefusedElsewhere(request: HttpRequest, response: HttpResponse, { endpoint, reason }: Refusing): boolean {
  return endpoint.dialects?.some((dialect) => dialect.refuseMediaType(request, response, reason.message)) ?? false;
}

/** JSON-RPC answers its errors with 200; what keeps a body from being read is HTTP's own. */
function statusOf(reason: unknown): number {
  if (reason instanceof UnsupportedMediaType) return 415;
  return reason instanceof BodyTooLarge ? 413 : 200;
}

interface Run extends Endpoint {
  readonly id: string;
  readonly rpc: RpcRequest;
}

async function run(request: HttpRequest, response: HttpResponse, endpoint: Run): Promise<void> {
  using gone = new ClientGone(response, endpoint.shutdown);
  const call = { ...endpoint.rpc, signal: gone.signal };
  const { answer, headers } = await callMethod(request, endpoint, call);
  // Awaited here, so that it is noticed for as long as the stream lasts when the client goes.
  if (answer.case === "stream") return await stream(response, answer.value, { ...endpoint, headers });
  send(response, 200, { body: resultText(endpoint.id, JSON.stringify(answer.value)), ...headers });
}

function stream(
  response: HttpResponse,
  frames: AsyncIterable<Frame>,
  run: Run & { readonly headers: Readonly<Record<string, string>> },
): Promise<void> {
  return streamFrames(response, frames, {
    ...run,
    data: (result) => resultText(run.id, result),
    error: (reason) => errorText(run.id, reported(reason, run)),
  });
}
