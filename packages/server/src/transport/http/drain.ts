import type { Socket } from "node:net";
import { GOODBYE_MS, type OpenRequest } from "./connections.ts";
import type { SniffingServer } from "./sniffing-server.ts";

/** How often connections are looked at while a server stops, in milliseconds. */
const CHECK_MS = 20;

/**
 * The end of a server that listens. It takes no more connections, and ends those that hold no work: at once where there is
 * no request, after a second where the server waits for the client to send its request or to read the response.
 */
export class Drain {
  readonly #server: SniffingServer;
  /** Since when each connection waits for its client, by the clock of `performance`. */
  readonly #waiting = new Map<Socket, number>();
  #closed: Promise<void> | undefined;

  constructor(server: SniffingServer) {
    this.#server = server;
  }

  /** Whether the server takes no more requests. */
  get isStopping(): boolean {
    return this.#closed !== undefined;
  }

  /** Takes no more connections and requests; those that are answered go on. Resolves when the last connection has ended. */
  stopTaking(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  /** Lets the requests end for a number of milliseconds, then ends what is left. */
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
    this.#endWithoutWork();
    const checks = setInterval(() => this.#endWithoutWork(), CHECK_MS);
    await closed;
    clearInterval(checks);
    http1.close();
  }

  #endWithoutWork(): void {
    const { connections } = this.#server;
    const now = performance.now();
    for (const socket of connections.sockets) {
      const requests = connections.requestsOn(socket);
      if (requests.some((request) => !waitsForClient(request))) {
        this.#waiting.delete(socket);
        continue;
      }
      const since = this.#waiting.get(socket) ?? now;
      this.#waiting.set(socket, since);
      // A session of HTTP/2 says goodbye itself, if its client reads that.
      const graceMs = requests.length > 0 || connections.isSession(socket) ? GOODBYE_MS : 0;
      if (now - since >= graceMs) socket.destroy();
    }
  }
}

/** Whether nothing but its client keeps a request from its end: it has to send the rest of it, or to read the response. */
function waitsForClient({ request, response }: OpenRequest): boolean {
  if (!("stream" in request)) return !request.complete || response.writableEnded || response.writableLength > 0;
  const { stream } = request;
  const hasSent = stream.endAfterHeaders || stream.state.state === HALF_CLOSED_REMOTE;
  return !hasSent || stream.writableEnded || stream.writableLength > 0;
}

/** The state of a stream whose client has sent its request: `NGHTTP2_STREAM_STATE_HALF_CLOSED_REMOTE`. */
const HALF_CLOSED_REMOTE = 5;
