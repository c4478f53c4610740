import type { JsonValue } from "@bufbuild/protobuf";
import { parseJson } from "@devtool/schema";
import { type HttpBinding, httpBindingsOf, requestJson } from "@devtool/schema/a2a-v1";
import { ClientGone } from "../a2a_v03/client-gone.ts";
import { streamFrames } from "../a2a_v03/stream-frames.ts";
import { readBody } from "../body.ts";
import { type HttpRequest, type HttpResponse, headerOf, pathOf, type Route, send } from "../route.ts";
import { type Endpoint, reported, tableOf } from "./endpoint.ts";
import { A2aFailure, bodyStatusOf, httpErrorOf } from "./errors.ts";
import { type Answer, contextOf, type Operation } from "./operation.ts";

/** A2A 1.0 over HTTP+JSON: a route for each way in which an annotation of the proto says that a method is called. */
export function restRoutes(endpoint: Endpoint): Route[] {
  const bound = [...endpoint.operations.values()].flatMap((operation) =>
    httpBindingsOf(operation.spec.method).map((binding) => ({ operation, binding })),
  );
  // `/tasks/{id}` takes what ends in a verb too, so those with one are looked at first.
  const ordered = [...bound.filter(hasVerb), ...bound.filter((item) => !hasVerb(item))];
  return ordered.map((item) => routeOf(item, endpoint));
}

interface Bound {
  readonly operation: Operation;
  readonly binding: HttpBinding;
}

function hasVerb({ binding }: Bound): boolean {
  return /:\w+$/.test(binding.template);
}

function routeOf(bound: Bound, endpoint: Endpoint): Route {
  const { httpMethod, template, match } = bound.binding;
  return {
    name: `${httpMethod} ${template}`,
    access: "token",
    matches: (method, path) => method === httpMethod && match(path) !== undefined,
    handle: (request, response) => handle(request, response, { ...endpoint, ...bound }),
  };
}

interface Handling extends Endpoint, Bound {}

async function handle(request: HttpRequest, response: HttpResponse, handling: Handling): Promise<void> {
  const mediaType = mediaTypeOf(request);
  try {
    using gone = new ClientGone(response, handling.shutdown);
    const { operation, binding } = handling;
    const context = contextOf(request, operation.spec, gone.signal);
    const json = requestJson(operation.spec.method.input, binding, {
      variables: binding.match(pathOf(request)) ?? new Map(),
      query: new URLSearchParams((request.url ?? "").split("?", 2)[1] ?? ""),
      body: await bodyOf(request, handling),
    });
    const answer = await operation.run(json, context);
    const headers = Object.fromEntries(context.responseHeader);
    await respond(response, answer, { ...handling, headers, mediaType });
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    const { status, body } = httpErrorOf(reported(reason, handling), tableOf(handling));
    send(response, bodyStatusOf(reason) ?? status, { body: JSON.stringify(body), "content-type": mediaType });
  }
}

interface Responding extends Handling {
  readonly headers: Readonly<Record<string, string>>;
  readonly mediaType: string;
}

async function respond(response: HttpResponse, answer: Answer, handling: Responding): Promise<void> {
  const { headers, mediaType } = handling;
  if (answer.case === "result") {
    return send(response, 200, { body: JSON.stringify(answer.value), "content-type": mediaType, ...headers });
  }
  await streamFrames(response, answer.value, {
    ...handling,
    data: (result) => result,
    error: (reason) => JSON.stringify(httpErrorOf(reported(reason, handling), tableOf(handling)).body),
    errorEvent: "error",
  });
}

/** The body as JSON; none where the method takes none, and none when it is empty, as a cancellation may be. */
async function bodyOf(request: HttpRequest, { binding, maxRequestBytes }: Handling): Promise<JsonValue | undefined> {
  if (binding.body === "") return undefined;
  const text = await readBody(request, maxRequestBytes);
  if (text.trim() === "") return undefined;
  const type = headerOf(request, "content-type");
  if (/^application\/(json|a2a\+json)\s*(;|$)/i.test(type)) return parseJson(text);
  const message = `content type ${JSON.stringify(type.slice(0, 80))} is not taken: send application/json or ${A2A_JSON}`;
  throw new A2aFailure(message, "CONTENT_TYPE_NOT_SUPPORTED");
}

const A2A_JSON = "application/a2a+json";

/** A2A's own media type for those who name it; older clients know plain JSON only. */
function mediaTypeOf(request: HttpRequest): string {
  const named = [headerOf(request, "accept"), headerOf(request, "content-type")];
  return named.some((header) => header.toLowerCase().includes(A2A_JSON)) ? A2A_JSON : "application/json";
}
