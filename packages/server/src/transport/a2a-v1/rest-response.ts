import type { JsonValue } from "@bufbuild/protobuf";
import { parseJson } from "@devtool/schema";
import type { Answered } from "../http/answer.ts";
import { hasJsonType, readBody } from "../http/body.ts";
import { ClientGone } from "../http/client-gone.ts";
import { type HttpRequest, type HttpResponse, headerOf, send } from "../http/route.ts";
import { streamFrames } from "../http/stream-frames.ts";
import { type Endpoint, reported, tableOf } from "./endpoint.ts";
import { A2aFailure, bodyStatusOf, httpErrorOf } from "./errors.ts";

/** Runs what a request asks for and writes its answer, its stream or its error as HTTP+JSON of A2A 1.0 has it. */
export async function respondTo(
  request: HttpRequest,
  response: HttpResponse,
  endpoint: Endpoint,
  run: (signal: AbortSignal) => Promise<Answered>,
): Promise<void> {
  const mediaType = mediaTypeOf(request);
  using gone = new ClientGone(response, endpoint.shutdown);
  try {
    await respond(response, await run(gone.signal), { endpoint, mediaType });
  } catch (reason) {
    if (response.destroyed || response.headersSent) return;
    const { status, body } = httpErrorOf(reported(reason, endpoint), tableOf(endpoint));
    send(response, bodyStatusOf(reason) ?? status, {
      body: JSON.stringify(body),
      "content-type": mediaType,
      ...(status === 401 && { "www-authenticate": "Bearer" }),
    });
  }
}

/** Writes an answer; resolves when all of it is written. */
function respond(
  response: HttpResponse,
  { answer, headers }: Answered,
  { endpoint, mediaType }: { readonly endpoint: Endpoint; readonly mediaType: string },
): Promise<void> | undefined {
  if (answer.case === "result") {
    const body = JSON.stringify(answer.value);
    return void send(response, 200, { body, "content-type": mediaType, ...headers() });
  }
  return streamFrames(response, answer.value, {
    endpoint,
    headers,
    data: (result) => result,
    error: (reason) => JSON.stringify(httpErrorOf(reported(reason, endpoint), tableOf(endpoint)).body),
    errorEvent: "error",
  });
}

/** The body of a request as JSON; undefined when it is empty, as that of a cancellation may be. */
export async function jsonBodyOf(request: HttpRequest, maxRequestBytes: number): Promise<JsonValue | undefined> {
  const text = await readBody(request, maxRequestBytes);
  if (text.trim() === "") return undefined;
  if (hasJsonType(request)) return parseJson(text);
  const type = headerOf(request, "content-type");
  const message = `content type ${JSON.stringify(type.slice(0, 80))} is not taken: send application/json or ${A2A_JSON}`;
  throw new A2aFailure(message, "CONTENT_TYPE_NOT_SUPPORTED");
}

const A2A_JSON = "application/a2a+json";

/** A2A's own media type for those who name it; older clients know plain JSON only. */
function mediaTypeOf(request: HttpRequest): string {
  const named = [headerOf(request, "accept"), headerOf(request, "content-type")];
  return named.some((header) => header.toLowerCase().includes(A2A_JSON)) ? A2A_JSON : "application/json";
}
