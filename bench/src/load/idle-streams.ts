/**
 * R6: what 10,000 idle streams cost in memory and processor time, and how soon
 * all of them have an event; beside a bare `node:http` server that holds as
 * many, with the same heartbeats.
 */
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { stream, type Target } from "../client.ts";
import { numberNamed, printRow } from "./row.ts";
import { sabotageNamed } from "./sabotage.ts";
import {
  startWatchedServer,
  type Watched,
  type WatchedServer,
} from "./watched-server.ts";

const STREAMS = numberNamed("streams", 10_000);
const IDLE_MS = numberNamed("idle-seconds", 60) * 1000;
/** This many connect at a time. */
const BATCH = numberNamed("at-once", 200);

/** The cost of idle streams. */
interface Cost {
  readonly kbEach: number;
  /**
   * Living objects and what they hold outside of the heap, right after a
   * collection: no garbage, however few the streams are.
   */
  readonly liveKbEach: number;
  readonly cpuPercent: number;
  readonly broadcastMs: number;
  /**
   * Processor time of the server until all streams had their last event, in
   * milliseconds.
   */
  readonly broadcastCpuMs: number;
}

const ours = await measure("loop-server.ts", beginTask);
const bare = await measure("bare-server.ts", async () => "");
printRow({
  name: "R6.kb-per-stream",
  value: ours.kbEach,
  target: { atMost: 25 },
});
printRow({
  name: "R6.kb-per-stream.over-bare",
  value: ours.kbEach - bare.kbEach,
  target: { atMost: 7.8 },
});
printRow({
  name: "R6.live-kb-per-stream.over-bare",
  value: ours.liveKbEach - bare.liveKbEach,
  target: { atMost: 11 },
});
printRow({
  name: "R6.idle-cpu-percent",
  value: ours.cpuPercent,
  target: { atMost: 2 },
});
printRow({
  name: "R6.idle-cpu.over-bare",
  value: ours.cpuPercent / bare.cpuPercent,
  target: { atMost: 1.5 },
});
printRow({
  name: "R6.broadcast-ms",
  value: ours.broadcastMs,
  target: { atMost: 500 },
});
printRow({
  name: "R6.broadcast-cpu.over-bare",
  value: ours.broadcastCpuMs / bare.broadcastCpuMs,
  target: { atMost: 3 },
});

async function measure(
  main: string,
  begin: (target: Target) => Promise<string>,
): Promise<Cost> {
  // Checked rarely, so that checking does not add to what is measured.
  await using server = await startWatchedServer({
    main,
    tickMs: 100,
    sabotage: sabotageNamed(),
  });
  // Before all else, since a collection changes the resident memory that is
  // compared below.
  const liveBefore = liveMb(await server.watchLive());
  // What a server loads and compiles with its first streams is not what is
  // asked here.
  const warm = await subscribeAll(server, 200, await begin(server));
  for (const socket of warm.sockets) socket.destroy();
  await delay(2000);
  const task = await begin(server);
  await delay(1000);
  const before = await server.watch();
  const streams = await subscribeAll(server, STREAMS, task);
  await delay(5000);
  const connected = await server.watch();
  await delay(IDLE_MS);
  const idle = await server.watch();
  const live = liveMb(await server.watchLive());
  const broadcastMs = await broadcast(server, task, streams.received);
  const { cpuMs, waitMs } = await server.watch();
  for (const socket of streams.sockets) socket.destroy();
  const cost = {
    kbEach: ((idle.residentMb - before.residentMb) * 1024) / STREAMS,
    liveKbEach: ((live - liveBefore) * 1024) / STREAMS,
    cpuPercent: (idle.cpuMs / IDLE_MS) * 100,
    broadcastMs,
    broadcastCpuMs: cpuMs,
  };
  console.log(
    `# ${main}: ${before.residentMb.toFixed(0)} MB before, ${connected.residentMb.toFixed(0)} MB with ${STREAMS} streams, ` +
      `${idle.residentMb.toFixed(0)} MB after ${IDLE_MS / 1000} s; ${cost.kbEach.toFixed(1)} KiB each, ${cost.liveKbEach.toFixed(1)} of living objects, ` +
      `${cost.cpuPercent.toFixed(2)} % of a processor, broadcast ${broadcastMs.toFixed(0)} ms, ${cpuMs.toFixed(0)} of processor time, ${waitMs.toFixed(0)} waiting for a processor`,
  );
  return cost;
}

function liveMb({ heapMb, externalMb }: Watched): number {
  return heapMb + externalMb;
}

/** Begins a task that does not end by itself; gives its id. */
async function beginTask(server: Target): Promise<string> {
  stream(server, { parts: [{ kind: "text", text: "text hello\nhang" }] }).catch(
    () => undefined,
  );
  const headers = { authorization: `Bearer ${server.token}` };
  for (;;) {
    await delay(50);
    const response = await fetch(`${server.url}/v1/tasks?pageSize=1`, {
      headers,
    });
    const { tasks } = JSON.parse(await response.text());
    if (/WORKING$/i.test(tasks[0]?.status.state)) return tasks[0].id;
  }
}

/**
 * Streams that are open, and a mark for each event that one of them had since.
 */
interface Subscribed {
  readonly sockets: Socket[];
  readonly received: number[];
}

async function subscribeAll(
  server: Target,
  count: number,
  task: string,
): Promise<Subscribed> {
  const sockets: Socket[] = [];
  const received: number[] = [];
  for (let index = 0; index < count; index += BATCH) {
    const size = Math.min(BATCH, count - index);
    const opened = Array.from({ length: size }, () =>
      subscribe(server, task, () => received.push(1)),
    );
    sockets.push(...(await Promise.all(opened)));
  }
  return { sockets, received };
}

/**
 * Opens a stream and resolves with its first event; says when it gets the last.
 */
function subscribe(
  { url, token }: Target,
  task: string,
  onEnd: () => void,
): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tasks/resubscribe",
    params: { id: task },
  });
  const head = [
    "POST / HTTP/1.1",
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${token}`,
    "content-type: application/json",
    "accept: text/event-stream",
    `content-length: ${body.length}`,
  ];
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(`${head.join("\r\n")}\r\n\r\n${body}`),
    );
    let isOpen = false;
    socket.on("data", (chunk: Buffer) => {
      if (isOpen && chunk.includes("canceled")) onEnd();
      if (!isOpen && chunk.includes("data: ")) {
        isOpen = true;
        resolve(socket);
      }
    });
    socket.on("error", reject);
  });
}

/** Cancels a task, and says after how many milliseconds all streams knew. */
async function broadcast(
  { url, token }: WatchedServer,
  task: string,
  received: readonly number[],
): Promise<number> {
  const start = performance.now();
  await fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tasks/cancel",
      params: { id: task },
    }),
  });
  while (received.length < STREAMS && performance.now() - start < 30_000) {
    await delay(5);
  }
  return performance.now() - start;
}
process.exit();
