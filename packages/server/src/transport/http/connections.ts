import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import type { HttpRequest, HttpResponse } from "./route.ts";

/**
 * Limits on the number of connections, and on how long one may stay open
 * without work.
 */
export interface ConnectionBounds {
  /** Maximum number of open sockets. */
  readonly maxConnections: number;
  /**
   * Time until an HTTP/2 session without an authenticated request is closed, in
   * milliseconds.
   */
  readonly admissionTimeoutMs: number;
  /**
   * Time until an authenticated HTTP/2 session without open streams is closed,
   * in milliseconds.
   */
  readonly idleTimeoutMs: number;
}

/** A request whose response is not closed yet. */
export interface OpenRequest {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
}

/** A check of the credentials of a request, until it is disposed. */
export interface CredentialCheck extends Disposable {
  /** Records that they were accepted: the connection may stay. */
  admit(): void;
}

/**
 * Time in milliseconds for a client to send or read the rest after it was asked
 * to disconnect.
 */
export const GOODBYE_MS = 1_000;

/**
 * The open connections of a server.
 *
 * Above the limit, the oldest connection without an authenticated request is
 * closed, so that clients without credentials cannot lock out those with
 * credentials.
 */
export class Connections {
  readonly sockets: Set<Socket> = new Set();
  /** The HTTP/2 sessions on some of the sockets. */
  readonly sessions: Set<ServerHttp2Session> = new Set();
  readonly #bounds: ConnectionBounds;
  /** Peers that have sent an authenticated request. */
  readonly #admitted = new Set<string>();
  /** Peers whose connection is an HTTP/2 session. */
  readonly #sessionPeers = new Set<string>();
  readonly #requests = new Set<OpenRequest>();
  readonly #checksOf = new WeakMap<object, () => CredentialCheck>();

  constructor(bounds: ConnectionBounds) {
    this.#bounds = bounds;
  }

  /**
   * Adds a new connection.
   *
   * Above the limit, closes the oldest unauthenticated connection, or else the
   * new one.
   */
  add(socket: Socket): void {
    const peer = peerOf(socket);
    this.sockets.add(socket);
    socket.on("close", () => {
      this.sockets.delete(socket);
      this.#admitted.delete(peer);
    });
    if (this.sockets.size <= this.#bounds.maxConnections) return;
    const unauthenticated = this.sockets
      .values()
      .find((other) => !this.#admitted.has(peerOf(other)));
    (unauthenticated ?? socket).destroy();
  }

  /**
   * Adds an HTTP/2 session, and closes it when it is not admitted or idle for
   * too long: Node has no such timeouts.
   */
  addSession(session: ServerHttp2Session): void {
    const { admissionTimeoutMs, idleTimeoutMs } = this.#bounds;
    let streams = 0;
    let checks = 0;
    let isAdmitted = false;
    let isLate = false;
    const stopWaiting = closeUnlessRead(() => {
      isLate = true;
      if (checks === 0) session.destroy();
    }, admissionTimeoutMs);
    const sayGoodbye = (): void => {
      // GOAWAY tells the client which of its last requests were taken. A client
      // that does not read it is cut off.
      session.close();
      setTimeout(() => session.destroy(), GOODBYE_MS).unref();
    };
    let stopIdle = (): void => undefined;
    const watchIdle = (): void => {
      stopIdle();
      if (!isAdmitted || streams > 0) return;
      stopIdle = closeUnlessRead(sayGoodbye, idleTimeoutMs);
    };
    this.sessions.add(session);
    const peer = peerOf(session.socket);
    this.#sessionPeers.add(peer);
    this.#checksOf.set(session, () => {
      // One that began late would keep a session that has no credentials.
      const share = isLate ? 0 : 1;
      checks += share;
      return {
        admit: () => {
          isAdmitted = true;
          stopWaiting();
          watchIdle();
        },
        [Symbol.dispose]: () => {
          checks -= share;
          if (isLate && checks === 0 && !isAdmitted) sayGoodbye();
        },
      };
    });
    session.on("stream", (stream) => {
      streams++;
      watchIdle();
      stream.once("close", () => {
        streams--;
        watchIdle();
      });
    });
    session.once("close", () => {
      stopWaiting();
      stopIdle();
      this.sessions.delete(session);
      this.#sessionPeers.delete(peer);
    });
  }

  /**
   * Begins to check the credentials of a request. A session is not closed for
   * want of credentials while those are checked that came in time.
   */
  beginCheck(request: HttpRequest): CredentialCheck {
    const session = "stream" in request ? request.stream.session : undefined;
    const check = session && this.#checksOf.get(session)?.();
    return {
      admit: () => {
        this.#admitted.add(peerOf(request.socket));
        check?.admit();
      },
      [Symbol.dispose]: () => check?.[Symbol.dispose](),
    };
  }

  /** Records a request until its response is closed. */
  addRequest(open: OpenRequest): void {
    this.#requests.add(open);
    const writable: Writable = open.response;
    writable.on("close", () => this.#requests.delete(open));
  }

  /** Yields each connection with its open requests. */
  *withRequests(): Iterable<readonly [Socket, readonly OpenRequest[]]> {
    const requests = Map.groupBy(this.#requests, ({ request }) =>
      peerOf(request.socket),
    );
    for (const socket of this.sockets) {
      yield [socket, requests.get(peerOf(socket)) ?? []];
    }
  }

  /** Whether a connection is an HTTP/2 session. */
  isSession(socket: Socket): boolean {
    return this.#sessionPeers.has(peerOf(socket));
  }
}

/**
 * Closes a connection after a time, unless the function that it returns is
 * called before.
 *
 * What has arrived by then is read first: after a time in which the whole
 * server stood still, timers are due before the data that waits, and clients
 * that were in time would be cut off.
 */
export function closeUnlessRead(
  close: () => void,
  timeoutMs: number,
): () => void {
  let isOver = false;
  const late = (): void => void setImmediate(() => isOver || close());
  const timer = setTimeout(late, timeoutMs).unref();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

/**
 * Returns the remote address and port of a connection.
 *
 * With TLS, both its sockets have the same.
 */
function peerOf({
  remoteAddress,
  remotePort,
}: Pick<Socket, "remoteAddress" | "remotePort">): string {
  return `${remoteAddress} ${remotePort}`;
}
