import type { Socket } from "node:net";
import { GOODBYE_MS, type OpenRequest } from "./connections.ts";
import type { SniffingServer } from "./sniffing-server.ts";

/**
 * Interval between two checks of the connections while a server stops, in
 * milliseconds.
 */
const CHECK_MS = 20;

/**
 * The state of a stream whose client has sent its whole request:
 * `NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE`.
 */
const HALF_CLOSED_REMOTE = 5;

/**
 * Shuts a listening server down.
 *
 * It accepts no more connections, and closes those without work: at once where
 * there is no request, and after a second where the server waits for the client
 * to send the rest of a request or to read a response.
 */
export class Drain {
  readonly #server: SniffingServer;
  /**
   * The time at which each connection began to wait for its client, on the
   * clock of `performance`.
   */
  readonly #waitingSince = new Map<Socket, number>();
  #closed: Promise<void> | undefined;

  constructor(server: SniffingServer) {
    this.#server = server;
  }

  /** Whether the server accepts no more requests. */
  get isStopping(): boolean {
    return this.#closed !== undefined;
  }

  /**
   * Accepts no more connections and requests; requests in progress go on.
   *
   * Resolves once the last connection is closed.
   */
  stopTaking(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /**
   * Waits up to `graceMs` milliseconds for the requests in progress, then
   * closes all connections.
   */
  async finish(graceMs: number): Promise<void> {
    const { sockets } = this.#server.connections;
    const force = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, graceMs);
    await this.stopTaking();
    clearTimeout(force);
  }

  async #close(): Promise<void> {
    const { net, http1, connections } = this.#server;
    const closed = new Promise<void>((resolve) => net.close(() => resolve()));
    for (const session of connections.sessions) session.close();
    this.#closeIdle();
    const checks = setInterval(() => this.#closeIdle(), CHECK_MS);
    await closed;
    clearInterval(checks);
    http1.close();
  }

  #closeIdle(): void {
    const { connections } = this.#server;
    const now = performance.now();
    for (const [socket, requests] of connections.withRequests()) {
      if (requests.some((request) => !waitsForClient(request))) {
        this.#waitingSince.delete(socket);
        continue;
      }
      const since = this.#waitingSince.get(socket) ?? now;
      this.#waitingSince.set(socket, since);
      // An HTTP/2 session ends by itself once its client has read the GOAWAY
      // frame.
      const graceMs =
        requests.length > 0 || connections.isSession(socket) ? GOODBYE_MS : 0;
      if (now - since >= graceMs) socket.destroy();
    }
  }
}

/**
 * Whether a request is held up by its client alone, which has yet to send the
 * rest of it or to read the response.
 */
function waitsForClient({ request, response }: OpenRequest): boolean {
  if (!("stream" in request)) {
    return (
      !request.complete || response.writableEnded || response.writableLength > 0
    );
  }
  const { stream } = request;
  const hasSent =
    stream.endAfterHeaders || stream.state.state === HALF_CLOSED_REMOTE;
  return !hasSent || stream.writableEnded || stream.writableLength > 0;
}
