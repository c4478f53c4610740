import type { JsonObject } from "@bufbuild/protobuf";
import { errorToRest, JsonRpcCode } from "@devtool/schema/a2a-v03";
import { isObject } from "@devtool/schema/json";
import type { Answered } from "../http/answer.ts";
import { assertJson, readBody } from "../http/body.ts";
import { ClientGone } from "../http/client-gone.ts";
import { JsonRpcFailure, parseBody } from "../http/json-rpc.ts";
import { type HttpRequest, type HttpResponse, pathOf, type Route, send } from "../http/route.ts";
import { streamFrames } from "../http/stream-frames.ts";
import { callMethod, type Endpoint } from "./endpoint.ts";
import { challengeOf, NoOperation, reported, restStatusOf } from "./errors.ts";
import { operationOf, type RequestedMethod } from "./rest-operations.ts";

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
  using gone = new ClientGone(response, endpoint.shutdown);
  let params: JsonObject | undefined;
  try {
    const operation = await readOperation(request, endpoint);
    params = operation.params;
    const answered = await callMethod(request, endpoint, { ...operation, signal: gone.signal });
    await respond(response, answered, { endpoint, operation });
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    const allow: Record<string, string> = reason instanceof NoOperation ? { allow: reason.verbs.join(", ") } : {};
    const body = errorToRest(reported(reason, endpoint, params));
    send(response, restStatusOf(reason, body.code), { body: JSON.stringify(body), ...allow, ...challengeOf(reason) });
  }
}

async function readOperation(request: HttpRequest, { maxRequestBytes }: Endpoint): Promise<RequestedMethod> {
  const text = await readBody(request, maxRequestBytes);
  // Clients name a type also where they send nothing, and none where nothing is to be said.
  if (text.trim() !== "") assertJson(request);
  const query = new Map(new URLSearchParams((request.url ?? "").split("?")[1] ?? ""));
  const path = pathOf(request).slice(PREFIX.length);
  return operationOf({ verb: request.method ?? "", path, query, body: objectIn(text) });
}

function objectIn(text: string): JsonObject {
  const json = text.trim() === "" ? {} : parseBody(text);
  if (isObject(json)) return json;
  throw new JsonRpcFailure("the body is not a JSON object: send one", JsonRpcCode.INVALID_REQUEST);
}

/** Writes an answer; resolves when all of it is written. */
function respond(
  response: HttpResponse,
  { answer, headers }: Answered,
  { endpoint, operation }: { readonly endpoint: Endpoint; readonly operation: RequestedMethod },
): Promise<void> | undefined {
  if (answer.case === "result") {
    return void send(response, 200, { body: JSON.stringify(operation.write(answer.value)), ...headers() });
  }
  return streamFrames(response, answer.value, {
    endpoint,
    headers,
    data: (result) => JSON.stringify(operation.write(JSON.parse(result))),
    error: (reason) => JSON.stringify(errorToRest(reported(reason, endpoint, operation.params))),
    errorEvent: "error",
  });
}
