import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * An address of loopback that leads to a server which is started again and
 * again, each time on another port. Nobody is there while it leads nowhere.
 */
export class SteadyAddress implements AsyncDisposable {
  readonly #server: Server;
  readonly #open = new Set<Socket>();
  #port: number | undefined;

  private constructor() {
    this.#server = createServer((client) => this.#pass(client));
  }

  static async open(): Promise<SteadyAddress> {
    const address = new SteadyAddress();
    address.#server.listen(0, "127.0.0.1");
    await once(address.#server, "listening");
    return address;
  }

  /** The host and port. */
  get host(): string {
    const address = this.#server.address();
    if (typeof address !== "object") throw new Error("nothing listens");
    return `127.0.0.1:${address?.port}`;
  }

  get url(): string {
    return `http://${this.host}`;
  }

  /** Leads to the server at a URL from now on; without one, nowhere. */
  lead(url: string | undefined): void {
    this.#port = url === undefined ? undefined : Number(new URL(url).port);
    for (const socket of this.#open) socket.destroy();
  }

  /** Cuts the connections that are open, without a word to either end. */
  cut(): void {
    for (const socket of this.#open) socket.resetAndDestroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.lead(undefined);
    this.#server.close();
    await once(this.#server, "close");
  }

  #pass(client: Socket): void {
    if (this.#port === undefined) {
      client.destroy();
      return;
    }
    const server = connect(this.#port, "127.0.0.1");
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#open.add(from);
      from.pipe(to);
      from.on("error", () => undefined);
      from.once("close", () => {
        this.#open.delete(from);
        to.destroy();
      });
    }
  }
}
