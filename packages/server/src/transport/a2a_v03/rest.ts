import type { JsonObject } from "@bufbuild/protobuf";
import { errorToRest, JsonRpcCode } from "@devtool/schema/a2a-v03";
import { BodyTooLarge, readBody } from "../body.ts";
import { type HttpRequest, type HttpResponse, pathOf, type Route, send } from "../route.ts";
import { ClientGone } from "./client-gone.ts";
import { assertJson, callMethod, type Endpoint, reported, UnsupportedMediaType } from "./endpoint.ts";
import { JsonRpcFailure } from "./errors.ts";
import { parseBody } from "./json-rpc.ts";
import { NoOperation, type Operation, operationOf } from "./rest-operations.ts";
import { streamFrames } from "./stream-frames.ts";

/** The HTTP+JSON binding of A2A 0.3: everything below `/v1/`, answered by the methods of its JSON-RPC binding. */
export function restRoute(endpoint: Endpoint): Route {
  return {
    name: `* ${PREFIX}`,
    access: "token",
    matches: (_method, path) => path.startsWith(PREFIX),
    handle: (request, response) => answer(request, response, endpoint),
  };
}

const PREFIX = "/v1/";

async function answer(request: HttpRequest, response: HttpResponse, endpoint: Endpoint): Promise<void> {
  try {
    await run(request, response, { ...endpoint, operation: await readOperation(request, endpoint) });
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    const allow: Record<string, string> = reason instanceof NoOperation ? { allow: reason.verbs.join(", ") } : {};
    const body = errorToRest(reported(reason, endpoint));
    send(response, statusOf(reason, body.code), { body: JSON.stringify(body), ...allow });
  }
}

async function readOperation(request: HttpRequest, { maxRequestBytes }: Endpoint): Promise<Operation> {
  const text = await readBody(request, maxRequestBytes);
  // Clients name a type also where they send nothing, and none where nothing is to be said.
  if (text.trim() !== "") assertJson(request);
  const query = new Map(new URLSearchParams((request.url ?? "").split("?")[1] ?? ""));
  const path = pathOf(request).slice(PREFIX.length);
  return operationOf({ verb: request.method ?? "", path, query, body: objectIn(text) });
}

function objectIn(text: string): JsonObject {
  const json = text.trim() === "" ? {} : parseBody(text);
  if (typeof json === "object" && json !== null && !Array.isArray(json)) return json;
  throw new JsonRpcFailure("the body is no JSON object: send one", JsonRpcCode.INVALID_REQUEST);
}

async function run(
  request: HttpRequest,
  response: HttpResponse,
  endpoint: Endpoint & { readonly operation: Operation },
): Promise<void> {
  const { operation } = endpoint;
  using gone = new ClientGone(response, endpoint.shutdown);
  const { answer, headers } = await callMethod(request, endpoint, { ...operation, signal: gone.signal });
  if (answer.case === "result") {
    return send(response, 200, { body: JSON.stringify(operation.write(answer.value)), ...headers });
  }
  await streamFrames(response, answer.value, {
    ...endpoint,
    headers,
    data: (result) => JSON.stringify(operation.write(JSON.parse(result))),
    error: (reason) => JSON.stringify(errorToRest(reported(reason, endpoint))),
    errorEvent: "error",
  });
}

function statusOf(reason: unknown, code: number): number {
  if (reason instanceof UnsupportedMediaType) return 415;
  if (reason instanceof BodyTooLarge) return 413;
  if (reason instanceof NoOperation && reason.verbs.length > 0) return 405;
  return STATUSES.get(code) ?? 400;
}

/** Statuses other than 400, by code. */
const STATUSES: ReadonlyMap<number, number> = new Map([
  [JsonRpcCode.METHOD_NOT_FOUND, 404],
  [JsonRpcCode.INTERNAL_ERROR, 500],
  [JsonRpcCode.TASK_NOT_FOUND, 404],
  [JsonRpcCode.TASK_NOT_CANCELABLE, 409],
  [JsonRpcCode.CONTENT_TYPE_NOT_SUPPORTED, 415],
  [JsonRpcCode.INVALID_AGENT_RESPONSE, 502],
  [JsonRpcCode.AUTHENTICATED_EXTENDED_CARD_NOT_CONFIGURED, 404],
]);
