import { connect, createServer, type Socket } from "node:net";
import { closeServer, listen } from "../loopback/http-server.ts";

/**
 * A proxy that cuts connections in the middle of what the server sends.
 */
export interface CuttingProxy extends AsyncDisposable {
  readonly url: string;
  /**
   * Returns the number of connections cut so far.
   */
  readonly cuts: () => number;
  /**
   * Returns the number of bytes that the server has sent.
   */
  readonly bytes: () => number;
}

/**
 * Starts a proxy in front of a server.
 *
 * `nextBytes` returns the number of bytes from the server after which to cut;
 * it is called at the start and after each cut. The bytes of all connections
 * are counted together, so a client that opens one for each call is cut at any
 * position too.
 */
export async function startCuttingProxy(
  target: () => string,
  nextBytes: () => number,
): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let cuts = 0;
  let bytes = 0;
  let left = nextBytes();
  const server = createServer({ noDelay: true }, (client) => {
    const { hostname, port } = new URL(target());
    const upstream = connect({
      port: Number(port),
      host: hostname,
      noDelay: true,
    });
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket
        .on("error", () => undefined)
        .on("close", () => open.delete(socket));
    }
    client
      .on("data", (chunk) => upstream.write(chunk))
      .on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
    upstream.on("data", (chunk) => {
      client.write(chunk.subarray(0, left));
      bytes += chunk.length;
      left -= chunk.length;
      if (left > 0) return;
      cuts++;
      left = nextBytes();
      client.destroySoon();
      upstream.destroy();
    });
  });
  const url = await listen(server);
  return {
    url,
    cuts: () => cuts,
    bytes: () => bytes,
    [Symbol.asyncDispose]: () => closeServer(server, open),
  };
}
