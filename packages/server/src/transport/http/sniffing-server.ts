import { createServer as createHttpServer, type Server as HttpServer, type RequestListener } from "node:http";
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { type ConnectionBounds, Connections } from "./connections.ts";
import type { HttpRequest, HttpResponse } from "./route.ts";

/** The bounds of connections. */
export interface ConnectionLimits extends ConnectionBounds {
  /** So many streams on one HTTP/2 connection. */
  readonly maxConcurrentStreams: number;
  /** A request must have sent its headers within so many milliseconds. */
  readonly headersTimeoutMs: number;
  /** A request must have been sent within so many milliseconds. */
  readonly requestTimeoutMs: number;
}

/** How long connections may take. An HTTP/2 client with credentials opens a new one for its next call. */
export const CONNECTION_TIMEOUTS: Omit<ConnectionLimits, "maxConnections" | "maxConcurrentStreams"> = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  admissionTimeoutMs: 30_000,
  idleTimeoutMs: 5 * 60_000,
};

/** The certificate of a server, and whose certificates it asks its clients for. */
export interface TlsOptions {
  /** The private key, in PEM. */
  readonly key: string;
  /** The certificate and those between it and its authority, in PEM. */
  readonly certificate: string;
  /** The authorities whose clients are known by their certificates, in PEM. Default: clients are not asked for one. */
  readonly clientAuthorities?: string;
}

/** How a sniffing server is made. */
export interface SniffingServerOptions {
  readonly limits: ConnectionLimits;
  /** Encrypts all connections; default: none. */
  readonly tls?: TlsOptions;
}

/** HTTP/1.1 and HTTP/2 on one port: the first bytes of a connection tell which it speaks. */
export interface SniffingServer {
  readonly net: Server;
  readonly http1: HttpServer;
  readonly connections: Connections;
}

/** How every HTTP/2 connection begins (RFC 9113, section 3.4); three bytes tell it from every method of HTTP/1.1. */
const HTTP2_PREFACE = "PRI";

/** Makes a server whose listener gets the requests of both. */
export function createSniffingServer(listener: Listener, options: SniffingServerOptions): SniffingServer {
  const { limits } = options;
  const http1 = createHttp1(listener, limits);
  const connections = new Connections(limits);
  let http2: Http2Server | undefined;
  const speakers: Speakers = {
    http1: () => http1,
    http2: () => {
      http2 ??= createHttp2(listener, limits).on("session", (session) => connections.addSession(session));
      return http2;
    },
  };
  const net = acceptor((socket) => sniff(socket, speakers, limits.headersTimeoutMs), options);
  net.on("connection", (socket) => connections.add(socket));
  return { net, http1, connections };
}

type Listener = (request: HttpRequest, response: HttpResponse) => void;

function createHttp1(listener: Listener, { headersTimeoutMs, requestTimeoutMs }: ConnectionLimits): HttpServer {
  const onRequest: RequestListener = (request, response) => listener(request, response);
  const http1 = createHttpServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      // Node looks for what is late each half minute, so that a header might take four times its limit.
      connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs),
      // Longer than clients keep idle connections, so that none writes into one that is just being closed.
      keepAliveTimeout: 75_000,
    },
    onRequest,
  );
  // Node begins to watch timeouts and idle connections of a server when it listens; this one gets its sockets from ours.
  http1.emit("listening");
  return http1;
}

function createHttp2(listener: Listener, { maxConcurrentStreams }: ConnectionLimits): Http2Server {
  const onRequest = (request: Http2ServerRequest, response: Http2ServerResponse): void => listener(request, response);
  return createHttp2Server({ settings: { maxConcurrentStreams }, maxSessionMemory: 32 }, onRequest);
}

/** Takes connections, and with a certificate only those that finished its handshake in time. */
function acceptor(accept: (socket: Socket) => void, { limits, tls }: SniffingServerOptions): Server {
  if (!tls) return createServer(accept);
  const { key, certificate, clientAuthorities } = tls;
  // A certificate is one way to be known among others: who has none is asked for a token, by the guard.
  const asks = clientAuthorities !== undefined && {
    ca: clientAuthorities,
    requestCert: true,
    rejectUnauthorized: false,
  };
  return createTlsServer(
    {
      key,
      cert: certificate,
      ALPNProtocols: ["h2", "http/1.1"],
      handshakeTimeout: limits.headersTimeoutMs,
      minVersion: "TLSv1.2",
      ...asks,
    },
    accept,
  );
}

/** Who takes a connection, by what it speaks. */
interface Speakers {
  readonly http1: () => HttpServer;
  readonly http2: () => Http2Server;
}

function sniff(socket: Socket, { http1, http2 }: Speakers, timeoutMs: number): void {
  const destroy = (): void => void socket.destroy();
  socket.setNoDelay(true);
  socket.setTimeout(timeoutMs).on("timeout", destroy).on("error", destroy);
  socket.once("readable", () => {
    const first = socket.read();
    if (!(first instanceof Buffer)) return void socket.destroy();
    socket.setTimeout(0).off("timeout", destroy);
    socket.unshift(first);
    const speaks2 = first.subarray(0, HTTP2_PREFACE.length).toString("latin1") === HTTP2_PREFACE;
    (speaks2 ? http2() : http1()).emit("connection", socket);
    // Whoever has it now listens for errors too.
    socket.off("error", destroy);
  });
}
