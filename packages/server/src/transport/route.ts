import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Writable } from "node:stream";

/** A request, over HTTP/1.1 or HTTP/2. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;

/** Its response. */
export type HttpResponse = ServerResponse | Http2ServerResponse;

/** One thing that the server answers. */
export interface Route {
  /** Whether a request of this method and path is for this route. */
  matches(method: string, path: string): boolean;
  /** Who may come: everybody, or those with the token. */
  readonly access: "public" | "token";
  /** Shown in tests and logs. */
  readonly name: string;
  handle(request: HttpRequest, response: HttpResponse): void | Promise<void>;
}

/** The first of some routes that takes a request; undefined when none does. */
export function routeOf(routes: readonly Route[], request: HttpRequest): Route | undefined {
  const path = pathOf(request);
  return routes.find(({ matches }) => matches(request.method ?? "", path));
}

/** The path of a request, without the query. */
export function pathOf(request: HttpRequest): string {
  return (request.url ?? "/").split("?", 1)[0] ?? "/";
}

/** One header of a request; empty when it is missing or stands there more than once. */
export function headerOf(request: HttpRequest, name: string): string {
  const value = request.headers[name];
  return typeof value === "string" ? value : "";
}

/** Answers with a small body and ends. */
export function send(
  response: HttpResponse,
  status: number,
  { body, ...headers }: { readonly body: string; readonly [header: string]: string },
): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries({ "content-type": "application/json", ...headers })) {
    response.setHeader(name, value);
  }
  finish(response, body);
}

/** Answers a request that no route takes. */
export function nothingServed(request: HttpRequest, response: HttpResponse): void {
  const error = `nothing is served at ${request.method} ${pathOf(request)}`;
  send(response, 404, { body: JSON.stringify({ error }) });
}

/** Ends a response with the rest of its body. */
export function finish(response: Writable, body: string): void {
  response.end(body);
}
