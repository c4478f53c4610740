import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * A connection to a server that can be cut. It keeps its address while the
 * server behind it is started again on another port.
 */
export class Line implements AsyncDisposable {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;

  /** The port of the server. */
  port = 0;

  private constructor() {
    this.#server = createServer((near) => {
      const far = connect(this.port, "127.0.0.1");
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.once("close", () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
      }
      near.pipe(far).pipe(near);
    });
  }

  static async start(): Promise<Line> {
    const line = new Line();
    line.#server.listen(0, "127.0.0.1");
    await once(line.#server, "listening");
    return line;
  }

  /** The host and port at which it listens. */
  get host(): string {
    return `127.0.0.1:${Object(this.#server.address()).port}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
    this.#sockets.clear();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }
}
