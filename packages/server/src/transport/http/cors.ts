import { cors } from "@connectrpc/connect";
import {
  type HttpRequest,
  type HttpResponse,
  headerOf,
  send,
} from "./route.ts";

/** The methods that a web page may use: those of all bindings. */
const METHODS = [...cors.allowedMethods, "HEAD", "DELETE"].join(", ");

/**
 * The request headers that a web page may send: those of Connect, gRPC-Web and
 * A2A.
 */
const REQUEST_HEADERS = [
  ...cors.allowedHeaders,
  "Accept",
  "Authorization",
  "Grpc-Accept-Encoding",
  "Grpc-Encoding",
  "If-None-Match",
  "Last-Event-ID",
  "A2A-Extensions",
  "A2A-Version",
  "X-A2A-Extensions",
].join(", ");

/** The response headers that a web page may read. */
const RESPONSE_HEADERS = [
  ...cors.exposedHeaders,
  "A2A-Extensions",
  "ETag",
  "WWW-Authenticate",
  "X-A2A-Extensions",
].join(", ");

/**
 * Time that a browser may cache the answer to a preflight request: two hours,
 * the longest that any browser allows.
 */
const MAX_AGE_SECONDS = 7200;

/**
 * Lets the page that sent a request read its response (Fetch standard, section
 * 3.3).
 *
 * Call it only for an origin that the operator lists. It never allows
 * credentials that the browser attaches by itself, such as cookies: a page
 * sends a token.
 */
export function shareWithOrigin(
  request: HttpRequest,
  response: HttpResponse,
): void {
  response.setHeader(
    "access-control-allow-origin",
    headerOf(request, "origin"),
  );
  response.setHeader("access-control-expose-headers", RESPONSE_HEADERS);
}

/**
 * Whether a request is a CORS preflight.
 *
 * A preflight carries no token; the request of the page that follows it does.
 */
export function isPreflight(request: HttpRequest): boolean {
  const { origin, "access-control-request-method": method } = request.headers;
  return (
    request.method === "OPTIONS" && origin !== undefined && method !== undefined
  );
}

/**
 * Answers a preflight request. Call it only for an origin that the operator
 * lists.
 */
export function answerPreflight(
  request: HttpRequest,
  response: HttpResponse,
): void {
  send(response, 204, {
    body: "",
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": REQUEST_HEADERS,
    "access-control-max-age": String(MAX_AGE_SECONDS),
    // Chromium asks for this before a page of the public internet calls a
    // server on loopback or in a private network.
    "access-control-allow-private-network":
      headerOf(request, "access-control-request-private-network") === "true"
        ? "true"
        : undefined,
  });
}
