import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import { GOODBYE_MS } from "./connections.ts";
import { beginFailure } from "./failure.ts";
import type { Refusal } from "./guard.ts";
import {
  finish,
  type HttpRequest,
  type HttpResponse,
  type Route,
  routeOf,
} from "./route.ts";

/**
 * Refuses a request before a route handles it, in the form of the route that
 * would have.
 *
 * The HTTP status and `WWW-Authenticate` stay wherever the form leaves room for
 * them.
 */
export async function refuse(
  request: HttpRequest,
  response: HttpResponse,
  refusal: Refusal,
  routes: readonly Route[],
): Promise<void> {
  const form = routeOf(routes, request)?.failureForm;
  const body = await beginFailure({ request, response }, refusal, form);
  if (refusal.challenge !== undefined) {
    response.setHeader("www-authenticate", refusal.challenge);
  }
  if (request.httpVersionMajor === 1) {
    await closeAfter(request, response, body);
  } else {
    finish(response, body);
  }
}

/**
 * Sends a response over HTTP/1 and closes the connection once the client has
 * sent the rest of its request, at most `GOODBYE_MS` later (RFC 9112, section
 * 9.6). A connection that closes before is reset, and the client may not read
 * the response. Never rejects.
 */
async function closeAfter(
  request: HttpRequest,
  response: HttpResponse,
  body: string | Uint8Array,
): Promise<void> {
  response.setHeader("connection", "close");
  response.setHeader("content-length", Buffer.byteLength(body));
  const writable: Writable = response;
  writable.write(body);
  const rest: Readable = request;
  rest.resume();
  // Rejects when the client disconnects or the time is over, which end the
  // connection too.
  await finished(rest, {
    writable: false,
    signal: AbortSignal.timeout(GOODBYE_MS),
  }).catch(() => undefined);
  finish(response, "");
}
