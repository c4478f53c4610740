import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A proxy in front of a server that cuts connections in the middle of what they carry. */
export interface DroppingProxy extends AsyncDisposable {
  readonly url: string;
  /** How many connections it has cut. */
  readonly drops: () => number;
}

/** Starts a proxy that cuts each connection after so many bytes from the server as `nextBytes` says. */
export async function startDroppingProxy(target: () => string, nextBytes: () => number): Promise<DroppingProxy> {
  const open = new Set<Socket>();
  let drops = 0;
  const server = createServer((client) => {
    const { hostname, port } = new URL(target());
    const upstream = connect(Number(port), hostname);
    let left = nextBytes();
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => undefined).on("close", () => open.delete(socket));
    }
    client.on("data", (chunk) => upstream.write(chunk)).on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
    upstream.on("data", (chunk) => {
      client.write(chunk.subarray(0, left));
      left -= chunk.length;
      if (left > 0) return;
      drops++;
      client.destroySoon();
      upstream.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const listening = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${listening}`,
    drops: () => drops,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, "close");
    },
  };
}
