/**
 * Streams on `node:http` and nothing else: a token, a first event, heartbeats,
 * and a last event for all when it is told to cancel.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { watchOver } from "./watch.ts";

const HEARTBEAT_MS = 15_000;
/** As in our server: the streams are served in turns, not all at once. */
const TICKS = 60;

const [, , , tickMs = "2"] = process.argv;
const token = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const expected = hash("sha256", `Bearer ${token}`, "buffer");
const slots: readonly Set<ServerResponse>[] = Array.from(
  { length: TICKS },
  () => new Set(),
);
let tick = 0;
setInterval(() => {
  tick = (tick + 1) % TICKS;
  for (const response of slots[tick] ?? []) response.write(": heartbeat\n\n");
}, HEARTBEAT_MS / TICKS);

const server = createServer(async (request, response) => {
  const given = hash("sha256", request.headers.authorization ?? "", "buffer");
  if (!timingSafeEqual(given, expected)) {
    return void response.writeHead(401).end();
  }
  const { method } = JSON.parse(await text(request));
  if (method === "tasks/cancel") {
    for (const slot of slots) {
      for (const stream of slot) stream.end('data: {"state":"canceled"}\n\n');
    }
    return void response.end();
  }
  const slot = slots[tick];
  response.writeHead(200, {
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
  });
  response.write('data: {"state":"working"}\n\n');
  slot?.add(response);
  response.on("close", () => slot?.delete(response));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const address: AddressInfo | string | null = server.address();
const port = typeof address === "object" && address ? address.port : 0;
await watchOver({ url: `http://127.0.0.1:${port}`, token }, Number(tickMs));
process.exit(0);
