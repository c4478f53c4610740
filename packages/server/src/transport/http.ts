import type { AddressInfo } from "node:net";
import { Code, DevtoolError } from "../errors.ts";
import type { Authenticator } from "./auth/authenticator.ts";
import { type GuardOptions, type Refusal, refusalOf } from "./guard.ts";
import { type HttpRequest, type HttpResponse, nothingServed, type Route, routeOf, send } from "./route.ts";
import {
  type ConnectionLimits,
  createSniffingServer,
  type SniffingServer,
  type TlsOptions,
} from "./sniffing-server.ts";

/** Where and how a server listens. */
export interface ListenOptions {
  /** The address to bind. */
  readonly host: string;
  /** The port to bind; 0 takes a free one. */
  readonly port: number;
  /** Further values of `Host` that are right, with their port. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** Tells who sends a request. */
  readonly authenticator: Authenticator;
  /** The certificate with which it listens; without it, it listens without TLS. */
  readonly tls?: TlsOptions;
  readonly limits: ConnectionLimits;
  /** Makes the routes, once the address is known. The first that matches a request gets it. */
  readonly routes: (baseUrl: string) => readonly Route[];
  /** Takes what went wrong while a request was answered. */
  readonly onError: (reason: unknown) => void;
}

/** A server that listens. */
export interface HttpListener {
  /** `http://host:port`, or `https:` with a certificate. */
  readonly url: string;
  /** Takes no more connections, lets requests end for so many milliseconds, then closes what is left. */
  close(graceMs: number): Promise<void>;
}

/** Listens. Every request passes the guard before a route sees it; what no route matches needs the token to learn so. */
export async function listen(options: ListenOptions): Promise<HttpListener> {
  let answer = (_request: HttpRequest, response: HttpResponse): void => send(response, 503, { body: "" });
  const server = createSniffingServer((request, response) => answer(request, response), options);
  await bind(server, options);
  const url = urlOf(server, options);
  const routes = options.routes(url);
  const guard = guardOf(options, url);
  answer = (request, response) =>
    void dispatch(request, response, { routes, guard }).catch((reason: unknown) => options.onError(reason));
  return { url, close: (graceMs) => close(server, graceMs) };
}

interface Dispatch {
  readonly routes: readonly Route[];
  readonly guard: GuardOptions;
}

async function dispatch(request: HttpRequest, response: HttpResponse, { routes, guard }: Dispatch): Promise<void> {
  try {
    const route = routeOf(routes, request);
    const refusal = await refusalOf(request, route?.access ?? "token", guard);
    if (refusal) refuse(request, response, refusal);
    else if (route) await route.handle(request, response);
    else nothingServed(request, response);
  } catch (reason) {
    if (isGone(reason)) return;
    if (response.headersSent) response.destroy();
    else send(response, 500, { body: JSON.stringify({ error: "internal error" }) });
    throw reason;
  }
}

/** Tells whether a client closed its connection in the middle of a response: that is its right, and no fault of ours. */
function isGone(reason: unknown): boolean {
  return reason instanceof Error && "code" in reason && reason.code === "ERR_STREAM_PREMATURE_CLOSE";
}

function refuse(request: HttpRequest, response: HttpResponse, { status, message, challenge }: Refusal): void {
  send(response, status, {
    body: JSON.stringify({ error: message }),
    // HTTP/2 has no such header.
    ...(request.httpVersionMajor === 1 && { connection: "close" }),
    ...(challenge !== undefined && { "www-authenticate": challenge }),
  });
}

async function bind({ net }: SniffingServer, { host, port }: ListenOptions): Promise<void> {
  const bound = Promise.withResolvers<void>();
  const fail = (reason: Error): void => bound.reject(bindError(host, port, reason));
  net.once("error", fail);
  net.listen(port, host, bound.resolve);
  await bound.promise;
  net.off("error", fail);
}

function bindError(host: string, port: number, reason: Error): DevtoolError {
  const taken = "code" in reason && reason.code === "EADDRINUSE";
  const problem = taken ? "is in use: choose another, or 0 for a free one" : `cannot be bound: ${reason.message}`;
  return new DevtoolError(`port ${port} of ${host} ${problem}`, Code.FailedPrecondition, { cause: reason });
}

function urlOf({ net }: SniffingServer, { host, tls }: ListenOptions): string {
  const address: AddressInfo | string | null = net.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return `${tls ? "https" : "http"}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function guardOf({ allowedHosts, allowedOrigins, authenticator }: ListenOptions, url: string): GuardOptions {
  const { host, port } = new URL(url);
  const names = [host, `127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`, ...allowedHosts];
  return { authenticator, hosts: new Set(names.map((name) => name.toLowerCase())), origins: new Set(allowedOrigins) };
}

async function close({ net, http1, sockets, sessions }: SniffingServer, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => net.close(() => resolve()));
  for (const session of sessions) session.close();
  // A kept-alive connection becomes idle only when its last response has ended.
  const idle = setInterval(() => http1.closeIdleConnections(), CLOSE_IDLE_MS);
  const force = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, graceMs);
  await closed;
  clearInterval(idle);
  http1.close();
  clearTimeout(force);
}

const CLOSE_IDLE_MS = 20;
