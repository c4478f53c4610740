import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { Writable } from "node:stream";
import { shorten } from "@devtool/schema";
import { failpoint } from "../../failpoint.ts";

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

/** Routes as they are below a prefix of the path; they see the rest of it. */
export function routesBelow(prefix: string, routes: readonly Route[]): Route[] {
  const below = (url: string): string => url.slice(prefix.length).replace(/^(?!\/)/, "/");
  const isBelow = (path: string): boolean => path === prefix || path.startsWith(`${prefix}/`);
  return routes.map((route) => ({
    name: `${route.name} below ${prefix}`,
    access: route.access,
    matches: (method, path) => isBelow(path) && route.matches(method, below(path)),
    handle: (request, response) => {
      request.url = below(request.url ?? "");
      return route.handle(request, response);
    },
  }));
}

/** The path of a request, without the query. */
export function pathOf(request: HttpRequest): string {
  return (request.url ?? "/").split("?", 1)[0] ?? "/";
}

/** Whether the client says that it takes a stream. */
export function takesStream(request: HttpRequest): boolean {
  return headerOf(request, "accept").toLowerCase().includes("text/event-stream");
}

/** The paths of Connect and gRPC: `/package.Service/Method`. */
export const RPC_PATH: RegExp = /^\/[a-z][\w.]*\.[A-Z]\w*\/\w+$/;

/** One header of a request; empty when it is missing or stands there more than once. */
export function headerOf(request: HttpRequest, name: string): string {
  const value = request.headers[name];
  return typeof value === "string" ? value : "";
}

/** Answers with a small body and ends. `vary` is added to what is there. */
export function send(
  response: HttpResponse,
  status: number,
  { body, ...headers }: { readonly body: string; readonly [header: string]: string },
): void {
  response.statusCode = status;
  for (const [name, value] of Object.entries({ "content-type": "application/json", ...headers })) {
    if (name === "vary") response.appendHeader(name, value);
    else response.setHeader(name, value);
  }
  finish(response, body);
}

/** Answers a request that no route takes. */
export function nothingServed(request: HttpRequest, response: HttpResponse): void {
  const error = `nothing is served at ${request.method} ${shorten(pathOf(request))}`;
  send(response, 404, { body: JSON.stringify({ error }) });
}

/** Ends a response with the rest of its body. */
export function finish(response: Writable, body: string | Uint8Array): void {
  failpoint("devtool:http.answer.before");
  if (body.length === 0) response.end();
  else response.end(body);
  failpoint("devtool:http.answer.after");
}
