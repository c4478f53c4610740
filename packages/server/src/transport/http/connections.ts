import type { ServerHttp2Session } from "node:http2";
import type { Socket } from "node:net";
import type { Writable } from "node:stream";
import type { HttpRequest, HttpResponse } from "./route.ts";

/** How many connections there may be, and how long each may do nothing. */
export interface ConnectionBounds {
  /** The number of sockets at a time. */
  readonly maxConnections: number;
  /** An HTTP/2 session without a request that was let in ends after this many milliseconds. */
  readonly admissionTimeoutMs: number;
  /** An HTTP/2 session without a stream ends after this many milliseconds. */
  readonly idleTimeoutMs: number;
}

/** A request whose response has not been closed. */
export interface OpenRequest {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
}

/**
 * The open connections of a server. When there are too many, the oldest one without a request that was let in makes room:
 * who has no credentials cannot lock out those who have.
 */
export class Connections {
  readonly sockets: Set<Socket> = new Set();
  /** The HTTP/2 sessions among them. */
  readonly sessions: Set<ServerHttp2Session> = new Set();
  readonly #bounds: ConnectionBounds;
  /** The connections that had a request which was let in, by their peers. */
  readonly #admitted = new Set<string>();
  /** The peers whose connections are HTTP/2 sessions. */
  readonly #sessionPeers = new Set<string>();
  readonly #requests = new Map<string, Set<OpenRequest>>();
  readonly #onAdmission = new WeakMap<object, () => void>();

  constructor(bounds: ConnectionBounds) {
    this.#bounds = bounds;
  }

  /** Takes a new connection in, and ends another one or this one when there are too many. */
  add(socket: Socket): void {
    const peer = peerOf(socket);
    this.sockets.add(socket);
    socket.on("close", () => {
      this.sockets.delete(socket);
      this.#admitted.delete(peer);
    });
    if (this.sockets.size > this.#bounds.maxConnections) this.#leastNeeded(socket).destroy();
  }

  /** Watches over an HTTP/2 session: Node ends none by itself. */
  addSession(session: ServerHttp2Session): void {
    const { admissionTimeoutMs, idleTimeoutMs } = this.#bounds;
    let streams = 0;
    let isAdmitted = false;
    let timer = setTimeout(() => session.destroy(), admissionTimeoutMs).unref();
    const rest = (): void => {
      clearTimeout(timer);
      if (isAdmitted && streams === 0) timer = setTimeout(() => endSession(session), idleTimeoutMs).unref();
    };
    this.sessions.add(session);
    const peer = peerOf(session.socket);
    this.#sessionPeers.add(peer);
    this.#onAdmission.set(session, () => {
      isAdmitted = true;
      rest();
    });
    session.on("stream", (stream) => {
      streams++;
      if (isAdmitted) rest();
      stream.once("close", () => {
        streams--;
        if (isAdmitted) rest();
      });
    });
    session.once("close", () => {
      clearTimeout(timer);
      this.sessions.delete(session);
      this.#sessionPeers.delete(peer);
    });
  }

  /** Notes that a request was let in by its credentials. */
  admit(request: HttpRequest): void {
    this.#admitted.add(peerOf(request.socket));
    if (!("stream" in request)) return;
    const { session } = request.stream;
    if (session) this.#onAdmission.get(session)?.();
  }

  /** Notes a request, until its response is closed. */
  addRequest(open: OpenRequest): void {
    const peer = peerOf(open.request.socket);
    const requests = this.#requests.get(peer) ?? new Set();
    this.#requests.set(peer, requests.add(open));
    const writable: Writable = open.response;
    writable.on("close", () => {
      requests.delete(open);
      if (requests.size === 0) this.#requests.delete(peer);
    });
  }

  /** The requests of a connection that are being answered. */
  requestsOn(socket: Socket): readonly OpenRequest[] {
    return [...(this.#requests.get(peerOf(socket)) ?? [])];
  }

  /** Whether a connection is an HTTP/2 session. */
  isSession(socket: Socket): boolean {
    return this.#sessionPeers.has(peerOf(socket));
  }

  #leastNeeded(newest: Socket): Socket {
    for (const socket of this.sockets) if (!this.#admitted.has(peerOf(socket))) return socket;
    return newest;
  }
}

/** A client that sends at this very moment learns which of its requests count; one that does not read is not waited for. */
function endSession(session: ServerHttp2Session): void {
  session.close();
  setTimeout(() => session.destroy(), GOODBYE_MS).unref();
}

/** How long a client that is asked to leave has for what it still sends or reads, in milliseconds. */
export const GOODBYE_MS = 1_000;

/** Names a connection; with TLS the same for both of its sockets. */
function peerOf({ remoteAddress, remotePort }: Pick<Socket, "remoteAddress" | "remotePort">): string {
  return `${remoteAddress} ${remotePort}`;
}
