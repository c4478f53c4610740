import { cors } from "@connectrpc/connect";
import { type HttpRequest, type HttpResponse, headerOf, send } from "./route.ts";

/** What a web page may send: the methods of all bindings, and the headers of Connect, gRPC-Web and A2A. */
const METHODS = [...cors.allowedMethods, "HEAD", "DELETE"].join(", ");
const REQUEST_HEADERS = [
  ...cors.allowedHeaders,
  ...["Accept", "Authorization", "Grpc-Accept-Encoding", "Grpc-Encoding", "If-None-Match", "Last-Event-ID"],
  ...["A2A-Extensions", "A2A-Version", "X-A2A-Extensions"],
].join(", ");

/** What a web page may read of a response beside its body. */
const RESPONSE_HEADERS = [
  ...cors.exposedHeaders,
  ...["A2A-Extensions", "ETag", "WWW-Authenticate", "X-A2A-Extensions"],
].join(", ");

/** A browser may remember the answer to a preflight request for two hours, the longest that any does. */
const MAX_AGE_SECONDS = 7200;

/**
 * Lets the page of a request read its response (Fetch standard, section 3.3). To be called only for an origin that the
 * operator lists. Credentials of the browser's own, such as cookies, are never asked for: a page sends a token.
 */
export function shareWithOrigin(request: HttpRequest, response: HttpResponse): void {
  response.setHeader("access-control-allow-origin", headerOf(request, "origin"));
  response.setHeader("access-control-expose-headers", RESPONSE_HEADERS);
}

/** Returns whether a browser asks if a page may send a request. It carries no token: the page's request does. */
export function isPreflight(request: HttpRequest): boolean {
  const { origin, "access-control-request-method": method } = request.headers;
  return request.method === "OPTIONS" && origin !== undefined && method !== undefined;
}

/** Answers a preflight request of an origin that the operator lists. */
export function answerPreflight(request: HttpRequest, response: HttpResponse): void {
  // Chromium asks this where a page of the Internet calls a server on loopback or in a private network.
  const isPrivate = headerOf(request, "access-control-request-private-network") === "true";
  send(response, 204, {
    body: "",
    "access-control-allow-methods": METHODS,
    "access-control-allow-headers": REQUEST_HEADERS,
    "access-control-max-age": String(MAX_AGE_SECONDS),
    ...(isPrivate && { "access-control-allow-private-network": "true" }),
  });
}
