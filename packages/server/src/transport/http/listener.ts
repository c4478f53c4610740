import type { AddressInfo } from "node:net";
import { Code, DevtoolError } from "../../errors.ts";
import type { Operations } from "../../operations.ts";
import type { Authenticator } from "../auth/authenticator.ts";
import { answerRequest, type Dispatch } from "./dispatch.ts";
import { Drain } from "./drain.ts";
import { ownAddresses } from "./own-addresses.ts";
import type { HttpRequest, HttpResponse, Route } from "./route.ts";
import {
  type ConnectionLimits,
  createSniffingServer,
  type SniffingServer,
  type TlsOptions,
} from "./sniffing-server.ts";
import { isWildcard } from "./wildcard.ts";

/** Options of `listen`. */
export interface ListenOptions {
  /** The address to bind. */
  readonly host: string;

  /** The port to bind; 0 chooses a free one. */
  readonly port: number;

  /** A bound socket to listen on in place of `port`. */
  readonly fd?: number;

  /**
   * The URL at which clients reach the server, without a trailing slash.
   *
   * Default: the URL at which it listens.
   */
  readonly publicUrl?: string;

  /**
   * Additional accepted values of `Host`: `name:port`, or `name` for any port.
   */
  readonly allowedHosts: readonly string[];

  /**
   * The accepted values of `Origin`: the web pages that may call the server.
   */
  readonly allowedOrigins: readonly string[];

  /**
   * Whether the server has pages of its own, which may call it from where it
   * listens and from its public URL.
   */
  readonly ownPages: boolean;

  /** The certificate of the server. Default: the server listens without TLS. */
  readonly tls?: TlsOptions;

  readonly limits: ConnectionLimits;

  /** Called with each error that is not the client's fault. */
  readonly onError: (reason: unknown) => void;
}

/** The URLs of a server, without a trailing slash. */
export interface Addresses {
  /**
   * Where the server listens: `http://host:port`, or `https:` with a
   * certificate.
   *
   * This machine can call it.
   */
  readonly url: string;
  /**
   * Where clients reach the server.
   *
   * All addresses that the server publishes are derived from it.
   */
  readonly publicUrl: string;
}

/** Which requests a server answers, and from whom. */
export interface Answering {
  /** The routes in order: the first that matches a request answers it. */
  readonly routes: readonly Route[];
  readonly authenticator: Authenticator;
  /** What the server's observer hears. Default: there is none. */
  readonly operations?: Operations | undefined;
}

/** A server that listens. */
export interface HttpListener extends Addresses {
  /**
   * Starts to answer requests, those that have arrived before included. Call it
   * once.
   */
  serve(answering: Answering): void;

  /** Accepts no more connections and requests. Requests in progress go on. */
  stopTaking(): void;

  /**
   * Accepts no more requests, waits up to `graceMs` milliseconds for those in
   * progress, then closes all connections.
   */
  close(graceMs: number): Promise<void>;
}

/**
 * Binds a port and accepts connections. Requests wait until `serve` is called.
 *
 * The two steps make the addresses known before the routes are made, which need
 * them, and make a start fail on a port in use before it has changed anything.
 */
export async function listen(options: ListenOptions): Promise<HttpListener> {
  const served = Promise.withResolvers<Dispatch>();
  const answer = async (
    request: HttpRequest,
    response: HttpResponse,
  ): Promise<void> => {
    server.connections.addRequest({ request, response });
    const dispatch = await served.promise;
    // Not awaited: a promise more would stay as long as a stream.
    void answerRequest(request, response, dispatch);
  };
  const server = createSniffingServer(
    (request, response) => void answer(request, response),
    options,
  );
  const drain = new Drain(server);
  const url = await bind(server, options);
  const own = ownAddresses(url, options.publicUrl);
  const hosts = new Set(
    [...own.hosts, ...options.allowedHosts].map((name) => name.toLowerCase()),
  );
  const origins = new Set([
    ...(options.ownPages ? own.origins : []),
    ...options.allowedOrigins,
  ]);
  return {
    url,
    publicUrl: options.publicUrl ?? url,
    serve: ({ routes, authenticator, operations }) =>
      served.resolve({
        routes,
        guard: { authenticator, hosts, origins },
        isStopping: () => drain.isStopping,
        beginCheck: (request) => server.connections.beginCheck(request),
        onError: options.onError,
        operations,
      }),
    stopTaking: () => void drain.stopTaking(),
    close: (graceMs) => drain.finish(graceMs),
  };
}

/** Binds the port of a server, and returns the URL at which it listens. */
async function bind(
  { net }: SniffingServer,
  { host, port, fd, tls, limits }: ListenOptions,
): Promise<string> {
  const bound = Promise.withResolvers<void>();
  const fail = (reason: Error): void => {
    const isTaken = "code" in reason && reason.code === "EADDRINUSE";
    const place = fd === undefined ? `port ${port} of ${host}` : `socket ${fd}`;
    const problem = `${place} ${isTaken ? "is in use" : `cannot be bound: ${reason.message}`}`;
    const remedy = isTaken ? "choose another, or 0 for a free one" : "";
    bound.reject(
      new DevtoolError(problem, Code.FailedPrecondition, {
        remedy,
        cause: reason,
      }),
    );
  };
  net.once("error", fail);
  net.listen(
    {
      ...(fd === undefined ? { port, host } : { fd }),
      // As many may wait as may be open: all clients come back at once after a
      // restart. Node's default is 511; the kernel has a limit too.
      backlog: limits.maxConnections,
    },
    bound.resolve,
  );
  await bound.promise;
  net.off("error", fail);
  const address = net.address();
  if (fd !== undefined) assertBoundTo(host, address, net);
  const boundPort = typeof address === "object" && address ? address.port : 0;
  const loopback = host.includes(":") ? "::1" : "127.0.0.1";
  // A wildcard binds all addresses, and is not an address to call. Loopback is
  // one of those it binds.
  const callable = isWildcard(host) ? loopback : host;
  return `${tls ? "https" : "http"}://${callable.includes(":") ? `[${callable}]` : callable}:${boundPort}`;
}

/**
 * Closes the server and throws when its socket is bound to another address than
 * the one whose exposure was checked.
 */
function assertBoundTo(
  host: string,
  address: AddressInfo | string | null,
  net: SniffingServer["net"],
): void {
  const actual =
    typeof address === "object" && address ? address.address : `${address}`;
  if (actual === host) return;
  net.close();
  throw new DevtoolError(
    `the socket that was passed is bound to ${actual}, and host is "${host}"`,
    Code.FailedPrecondition,
    { remedy: "write the same address in both" },
  );
}
