import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { listen } from "./listener.ts";
import { CONNECTION_TIMEOUTS } from "./sniffing-server.ts";

const CLIENTS = 2_000;
const KERNEL_LIMIT = "/proc/sys/net/core/somaxconn";
const limit = existsSync(KERNEL_LIMIT)
  ? Number(readFileSync(KERNEL_LIMIT, "utf8"))
  : 0;
const canQueue = limit >= CLIENTS;
const note = canQueue
  ? ""
  : ` (skipped: ${KERNEL_LIMIT} is ${limit || "missing"}: needs ${CLIENTS})`;

describe("a listener", () => {
  // Those for which there is no room try again after a second, then after two
  // more.
  it.skipIf(!canQueue)(
    `has room for all clients that connect at once, as after a restart${note}`,
    async () => {
      const limits = {
        ...CONNECTION_TIMEOUTS,
        maxConnections: 2 * CLIENTS,
        maxConcurrentStreams: 10,
      };
      const listener = await listen({
        ...{
          host: "127.0.0.1",
          port: 0,
          allowedHosts: [],
          allowedOrigins: [],
          ownPages: false,
        },
        limits,
        onError: () => undefined,
      });
      const port = Number(new URL(listener.url).port);
      const sockets = Array.from({ length: CLIENTS }, () =>
        connect(port, "127.0.0.1").on("error", () => undefined),
      );
      // Connecting begins in ticks before this one. Nobody accepts until the
      // event loop turns.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      const end = performance.now() + 5_000;
      while (waitingAt(port) < CLIENTS && performance.now() < end);
      expect(waitingAt(port)).toBe(CLIENTS);
      for (const socket of sockets) socket.destroy();
      await Promise.all(
        sockets.map((socket) => socket.closed || once(socket, "close")),
      );
      await listener.close(0);
    },
  );
});

/**
 * Returns how many connections wait to be accepted: the receive queue of a
 * socket that listens, in proc_net_tcp.
 */
function waitingAt(port: number): number {
  const address = `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const fields = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .find(([, local, , state]) => local === address && state === LISTEN);
  return Number.parseInt(fields?.[4]?.split(":")[1] ?? "0", 16);
}

const LISTEN = "0A";
