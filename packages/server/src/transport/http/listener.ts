import type { AddressInfo } from "node:net";
import { Code, DevtoolError } from "../../errors.ts";
import { isWildcard } from "../../server-access.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { answerRequest, type Dispatch, STOPPING } from "./dispatch.ts";
import { Drain } from "./drain.ts";
import type { GuardOptions } from "./guard.ts";
import { refuse } from "./refusal.ts";
import type { HttpRequest, HttpResponse, Route } from "./route.ts";
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
  /** Where clients reach the server, without a slash at its end, when that is not where it listens. */
  readonly publicUrl?: string;
  /** Further values of `Host` that are served: `name:port`, or `name` for any port. */
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  /** The certificate with which it listens; without it, it listens without TLS. */
  readonly tls?: TlsOptions;
  readonly limits: ConnectionLimits;
  /** Takes what went wrong while a request was answered. */
  readonly onError: (reason: unknown) => void;
}

/** The addresses of a server, without a slash at their ends. */
export interface Addresses {
  /** Where it listens: `http://host:port`, or `https:` with a certificate. One that this machine can call. */
  readonly url: string;
  /** Where clients reach it: what it says of its addresses is made from this. */
  readonly publicUrl: string;
}

/** What answers requests, and who may send them. */
export interface Answering {
  /** The first that matches a request gets it. */
  readonly routes: readonly Route[];
  /** Says who sends a request. */
  readonly authenticator: Authenticator;
}

/** A server that listens. */
export interface HttpListener extends Addresses {
  /** Begins to answer: those that wait, and all that come. To be called once. */
  serve(answering: Answering): void;
  /** Takes no more connections and requests; those that are being answered go on. */
  stopTaking(): void;
  /** Takes no more, lets requests end for a number of milliseconds, then closes what is left. */
  close(graceMs: number): Promise<void>;
}

/**
 * Listens. Requests wait until `serve` says what answers them, so that the addresses are known before there is anything to
 * answer with, and a port that is taken ends a start before it has touched anything.
 */
export async function listen(options: ListenOptions): Promise<HttpListener> {
  const served = Promise.withResolvers<Dispatch>();
  const answer = async (request: HttpRequest, response: HttpResponse): Promise<void> => {
    server.connections.addRequest({ request, response });
    const dispatch = await served.promise;
    if (drain.isStopping) return refuse(request, response, STOPPING);
    return answerRequest(request, response, dispatch);
  };
  const server = createSniffingServer((request, response) => void answer(request, response), options);
  const drain = new Drain(server);
  await bind(server, options);
  const url = urlOf(server, options);
  const addresses = { url, publicUrl: options.publicUrl ?? url };
  const admit = (request: HttpRequest): void => server.connections.admit(request);
  return {
    ...addresses,
    serve: ({ routes, authenticator }) =>
      served.resolve({ routes, admit, onError: options.onError, guard: guardOf(options, authenticator, addresses) }),
    stopTaking: () => void drain.stopTaking(),
    close: (graceMs) => drain.finish(graceMs),
  };
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
  const problem = `port ${port} of ${host} ${taken ? "is in use" : `cannot be bound: ${reason.message}`}`;
  const remedy = taken ? "choose another, or 0 for a free one" : "";
  return new DevtoolError(problem, Code.FailedPrecondition, { remedy, cause: reason });
}

function urlOf({ net }: SniffingServer, { host, tls }: ListenOptions): string {
  const address: AddressInfo | string | null = net.address();
  const port = typeof address === "object" && address ? address.port : 0;
  const callable = callableHost(host);
  return `${tls ? "https" : "http"}://${callable.includes(":") ? `[${callable}]` : callable}:${port}`;
}

/** A wildcard binds all addresses and can be called at none: then loopback is one of those that it binds. */
function callableHost(host: string): string {
  if (!isWildcard(host)) return host;
  return host.includes(":") ? "::1" : "127.0.0.1";
}

function guardOf(
  { publicUrl, allowedHosts, allowedOrigins }: ListenOptions,
  authenticator: Authenticator,
  { url }: Addresses,
): GuardOptions {
  const { host, port } = new URL(url);
  const own = [host, `127.0.0.1:${port}`, `localhost:${port}`, `[::1]:${port}`];
  // Proxies differ in whether they pass the port on.
  const names = [...own, ...(publicUrl === undefined ? [] : [new URL(publicUrl).hostname]), ...allowedHosts];
  return { authenticator, hosts: new Set(names.map((name) => name.toLowerCase())), origins: new Set(allowedOrigins) };
}
