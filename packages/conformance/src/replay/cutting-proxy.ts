import { connect, createServer, type Socket } from "node:net";
import { close, listen } from "./replay-server.ts";

/** A proxy in front of a server that cuts connections in the middle of what they carry. */
export interface CuttingProxy extends AsyncDisposable {
  readonly url: string;
  /** How many connections it has cut. */
  readonly cuts: () => number;
  /** How many bytes the server has sent. */
  readonly bytes: () => number;
}

/**
 * Starts a proxy that cuts a connection after so many bytes from the server as `nextBytes` says, and again after so many
 * more. The bytes of all connections are counted together, so that a client that takes one for each call is cut anywhere.
 */
export async function startCuttingProxy(target: () => string, nextBytes: () => number): Promise<CuttingProxy> {
  const open = new Set<Socket>();
  let cuts = 0;
  let bytes = 0;
  let left = nextBytes();
  const server = createServer({ noDelay: true }, (client) => {
    const { hostname, port } = new URL(target());
    const upstream = connect({ port: Number(port), host: hostname, noDelay: true });
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => undefined).on("close", () => open.delete(socket));
    }
    client.on("data", (chunk) => upstream.write(chunk)).on("close", () => upstream.destroy());
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
  return { url, cuts: () => cuts, bytes: () => bytes, [Symbol.asyncDispose]: () => close(server, open) };
}
