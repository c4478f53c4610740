import type { Server as HttpServer } from "node:http";
import type {
  Http2Server,
  Http2ServerRequest,
  Http2ServerResponse,
} from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import type { TlsOptions as NodeTlsOptions } from "node:tls";
import {
  type ConnectionBounds,
  Connections,
  closeUnlessRead,
} from "./connections.ts";
import type { HttpRequest, HttpResponse } from "./route.ts";

/** Limits on connections and on the time that a request may take to arrive. */
export interface ConnectionLimits extends ConnectionBounds {
  /** Maximum number of streams on one HTTP/2 connection. */
  readonly maxConcurrentStreams: number;
  /**
   * Time within which the headers of a request must arrive, in milliseconds.
   */
  readonly headersTimeoutMs: number;
  /** Time within which a whole request must arrive, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/**
 * The default timeouts.
 *
 * An HTTP/2 client whose idle session is closed opens a new one for its next
 * call.
 */
export const CONNECTION_TIMEOUTS: Omit<
  ConnectionLimits,
  "maxConnections" | "maxConcurrentStreams"
> = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  admissionTimeoutMs: 30_000,
  idleTimeoutMs: 5 * 60_000,
};

/**
 * The certificate of a server, and the authorities of its clients'
 * certificates.
 */
export interface TlsOptions {
  /** The private key in PEM. */
  readonly key: string;

  /** The certificate in PEM, followed by the intermediate certificates. */
  readonly certificate: string;

  /**
   * The authorities that issue client certificates, in PEM. Default: clients
   * are not asked for a certificate.
   */
  readonly clientAuthorities?: string;
}

interface SniffingServerOptions {
  readonly limits: ConnectionLimits;
  /** Default: connections are not encrypted. */
  readonly tls?: TlsOptions;
}

/**
 * A server for HTTP/1.1 and HTTP/2 on one port.
 *
 * The first bytes of a connection decide which of the two it speaks.
 */
export interface SniffingServer {
  /** Accepts the connections; it is not bound to a port yet. */
  readonly net: Server;
  readonly http1: HttpServer;
  readonly connections: Connections;
}

type Listener = (request: HttpRequest, response: HttpResponse) => void;

/**
 * The start of every HTTP/2 connection (RFC 9113, section 3.4).
 *
 * No method of HTTP/1.1 begins with these three bytes.
 */
const HTTP2_PREFACE = "PRI";

/** Creates a server whose listener receives the requests of both versions. */
export function createSniffingServer(
  listener: Listener,
  options: SniffingServerOptions,
): SniffingServer {
  const { limits, tls } = options;
  const http1 = createHttp1(listener, limits);
  const connections = new Connections(limits);
  let http2: Http2Server | undefined;
  const serverOf = (first: Buffer): HttpServer | Http2Server => {
    if (
      first.subarray(0, HTTP2_PREFACE.length).toString("latin1") !==
      HTTP2_PREFACE
    ) {
      return http1;
    }
    http2 ??= process
      .getBuiltinModule("node:http2")
      .createServer(
        {
          settings: { maxConcurrentStreams: limits.maxConcurrentStreams },
          maxSessionMemory: 32,
        },
        (request: Http2ServerRequest, response: Http2ServerResponse) =>
          listener(request, response),
      )
      .on("session", (session) => connections.addSession(session));
    return http2;
  };
  // Hands a connection to the server that its first bytes ask for, or closes it
  // when none arrive in time.
  const accept = (socket: Socket): void => {
    const destroy = (): void => void socket.destroy();
    socket.setNoDelay(true).on("error", destroy);
    const stopWaiting = closeUnlessRead(destroy, limits.headersTimeoutMs);
    socket.once("close", stopWaiting);
    socket.once("readable", () => {
      const first = socket.read();
      if (!(first instanceof Buffer)) return void socket.destroy();
      stopWaiting();
      socket.off("close", stopWaiting);
      socket.unshift(first);
      serverOf(first).emit("connection", socket);
      // From here on, that server handles errors of the socket.
      socket.off("error", destroy);
    });
  };
  const net = tls
    ? process
        .getBuiltinModule("node:tls")
        .createServer(tlsOptions(tls, limits), accept)
    : createServer(accept);
  net.on("connection", (socket) => connections.add(socket));
  return { net, http1, connections };
}

function createHttp1(
  listener: Listener,
  { headersTimeoutMs, requestTimeoutMs }: ConnectionLimits,
): HttpServer {
  // An `import` of it also evaluates the HTTP client that it exports.
  const http1 = process.getBuiltinModule("node:http").createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      // Node checks these timeouts every 30 seconds by default, so that headers
      // could take four times their limit.
      connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs),
      // Longer than clients keep idle connections, so that no client writes to
      // one that is just being closed.
      keepAliveTimeout: 75_000,
    },
    (request, response) => listener(request, response),
  );
  // Node starts to check timeouts when a server listens. This one never does:
  // it gets its sockets from `net`.
  http1.emit("listening");
  return http1;
}

/**
 * Returns the TLS options of Node.
 *
 * Connections whose handshake is not complete in time are closed.
 */
function tlsOptions(
  tls: TlsOptions,
  { headersTimeoutMs }: ConnectionLimits,
): NodeTlsOptions {
  const { key, certificate, clientAuthorities } = tls;
  const options: NodeTlsOptions = {
    key,
    cert: certificate,
    ALPNProtocols: ["h2", "http/1.1"],
    handshakeTimeout: headersTimeoutMs,
    minVersion: "TLSv1.2",
  };
  if (clientAuthorities === undefined) return options;
  // A certificate is one way to authenticate among others. The guard asks
  // clients without one for a token.
  return {
    ...options,
    ca: clientAuthorities,
    requestCert: true,
    rejectUnauthorized: false,
  };
}
