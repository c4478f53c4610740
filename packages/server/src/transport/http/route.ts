import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Writable } from "node:stream";
import { replaceLoneSurrogates } from "@devtool/internal/exact-json";
import { failpoint } from "@devtool/internal/failpoint";

/** A request over HTTP/1.1 or HTTP/2. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

/** The response to an `HttpRequest`. */
export type HttpResponse = ServerResponse | Http2ServerResponse;

/** Response headers by lower-case name. */
export type ResponseHeaders = Readonly<Record<string, string>>;

/**
 * How a route says why a request fails: one that is refused before it is
 * handled, and one whose answer throws. `WWW-Authenticate` is added.
 */
export type FailureForm = (
  failure: Failure,
  request: HttpRequest,
) => FailureAnswer | Promise<FailureAnswer>;

/** Why a request fails, with its status in HTTP. */
export interface Failure {
  readonly status: number;
  readonly message: string;
}

/** What the client of a request that fails is sent. */
export interface FailureAnswer {
  /** Default: the status of the failure. */
  readonly status?: number;

  /** Headers by lower-case name. Default: those of JSON. */
  readonly headers?: ResponseHeaders;

  readonly body: string | Uint8Array;
}

/** One thing that a server answers. */
export interface Route {
  /** The name of the route in tests and logs. */
  readonly name: string;

  /** Which callers may use the route: all, or only authenticated ones. */
  readonly access: "public" | "token";

  /**
   * The method and the path that it answers, by which a server finds at its
   * start that an earlier route takes them. Default: several.
   */
  readonly at?: { readonly method: string; readonly path: string } | undefined;

  /** Default: `{"error": message}`. */
  readonly failureForm?: FailureForm | undefined;

  /** Whether the route answers requests with this method and path. */
  matches(method: string, path: string): boolean;

  /**
   * Answers a request.
   *
   * May reject before the response has begun: the server then answers with
   * status 500.
   */
  handle(request: HttpRequest, response: HttpResponse): void | Promise<void>;
}

/**
 * Makes a route that answers GET and HEAD requests for one path without
 * credentials.
 */
export function documentRoute(path: string, handle: Route["handle"]): Route {
  return {
    name: `GET ${path}`,
    access: "public",
    at: { method: "GET", path },
    matches: (method, requested) =>
      (method === "GET" || method === "HEAD") && requested === path,
    handle,
  };
}

/** Returns the first route that matches a request; undefined when none does. */
export function routeOf(
  routes: readonly Route[],
  request: HttpRequest,
): Route | undefined {
  const path = pathOf(request);
  return routes.find(({ matches }) => matches(request.method ?? "", path));
}

/**
 * Moves routes below a path prefix. The routes themselves see request paths
 * without it.
 */
export function routesBelow(prefix: string, routes: readonly Route[]): Route[] {
  return routes.map((route) => ({
    ...route,
    name: `${route.name} below ${prefix}`,
    at: route.at && { ...route.at, path: `${prefix}${route.at.path}` },
    matches: (method, path) =>
      (path === prefix || path.startsWith(`${prefix}/`)) &&
      route.matches(method, withoutPrefix(prefix, path)),
    handle: (request, response) => {
      request.url = withoutPrefix(prefix, request.url ?? "");
      return route.handle(request, response);
    },
  }));
}

/**
 * Returns a path, with or without a query, as seen from below a prefix of it.
 */
export function withoutPrefix(prefix: string, url: string): string {
  return url.slice(prefix.length).replace(/^(?!\/)/, "/");
}

/** Returns the path of a request without its query. */
export function pathOf(request: HttpRequest): string {
  return (request.url ?? "/").split("?", 1)[0] ?? "/";
}

/**
 * Returns one header of a request; empty when the request has none of this
 * name, or several.
 */
export function headerOf(request: HttpRequest, name: string): string {
  const value = request.headers[name];
  return typeof value === "string" ? value : "";
}

/**
 * The body of a small response, and its headers by lower-case name.
 *
 * Headers that are undefined are not sent.
 */
export interface SmallResponse {
  readonly body: string;
  readonly [header: string]: string | undefined;
}

/**
 * Sends a response with a small body, as JSON unless it has another
 * `content-type`. One with an `etag` that the client has already is sent as
 * status 304 without its body.
 *
 * A `vary` header is added to the one that the response has; all others replace
 * what the response has.
 */
export function send(
  response: HttpResponse,
  status: number,
  { body, ...headers }: SmallResponse,
): void {
  const { etag } = headers;
  const isKnown = etag !== undefined && isKnownTag(response.req, etag);
  response.statusCode = isKnown ? 304 : status;
  const type = headers["content-type"] ?? "application/json";
  for (const [name, value] of Object.entries({
    ...headers,
    "content-type": type,
  })) {
    if (value === undefined) continue;
    if (name === "vary") {
      response.appendHeader(name, value);
    } else {
      response.setHeader(name, value);
    }
  }
  const text = type.includes("json") ? replaceLoneSurrogates(body) : body;
  finish(response, isKnown ? "" : text);
}

/** Answers a request with an error, in the form of no protocol. */
export function sendError(
  response: HttpResponse,
  status: number,
  error: string,
): void {
  send(response, status, { body: JSON.stringify({ error }) });
}

/** Ends a response with the rest of its body. */
export function finish(response: Writable, body: string | Uint8Array): void {
  failpoint("devtool:http.answer.before");
  if (body.length === 0) {
    response.end();
  } else {
    response.end(body);
  }
  failpoint("devtool:http.answer.after");
}

/**
 * Whether a client has the representation with an entity tag already, by its
 * `If-None-Match`: a list of tags, or `*` (RFC 9110, section 13.1.2). Tags that
 * a proxy has made weak are compared as if they were not.
 */
export function isKnownTag(request: HttpRequest, etag: string): boolean {
  const asked = headerOf(request, "if-none-match").trim();
  return (
    asked === "*" ||
    asked.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag)
  );
}
