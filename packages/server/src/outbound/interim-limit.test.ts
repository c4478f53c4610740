import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkedFetch } from "./checked-fetch.ts";
import { guardedFetch } from "./guarded-fetch.ts";
import type { OutboundPolicy } from "./outbound-policy.ts";

const HINT = "HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n";
const TOO_MANY = "sends more than 16 interim responses";

describe("interim responses", () => {
  const sockets = new Set<Socket>();
  /** How many hints come before the response. */
  let hints = 0;
  let server: Server;
  let url: string;

  beforeAll(async () => {
    server = createServer((socket) => {
      sockets.add(socket.on("error", () => undefined));
      socket.once("data", () => void answer(socket));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/`;
  });
  afterAll(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });

  const policy = (): OutboundPolicy => ({
    allowedHosts: [new URL(url).host],
    allowing: (target) => target,
    ownPorts: () => [],
    resolve: (name) => Promise.resolve([name]),
  });
  const requests: Readonly<
    Record<string, (signal: AbortSignal) => Promise<number>>
  > = {
    "a guarded fetch": async (signal) => {
      const limits = { maxRedirects: 0, maxBytes: 1000, timeoutMs: 60_000 };
      return (
        await guardedFetch(
          { url, method: "GET", headers: {}, ...limits },
          policy(),
          signal,
        )
      ).status;
    },
    "a checked fetch": async (signal) =>
      (await checkedFetch(policy())(url, { signal })).status,
  };

  it.each(Object.entries(requests))(
    "come before the response to %s, a few of them",
    async (_, request) => {
      hints = 16;
      expect(await request(AbortSignal.timeout(60_000))).toBe(200);
    },
  );

  it.each(Object.entries(requests))(
    "without end are cut off: %s",
    async (_, request) => {
      hints = Number.POSITIVE_INFINITY;
      await expect(request(AbortSignal.timeout(60_000))).rejects.toThrow(
        TOO_MANY,
      );
    },
  );

  async function answer(socket: Socket): Promise<void> {
    for (let sent = 0; sent < hints && !socket.destroyed; sent++) {
      if (!socket.write(HINT)) {
        await Promise.race([
          once(socket, "drain"),
          once(socket, "close"),
        ]).catch(() => undefined);
      }
    }
    socket.end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  }
});
