/**
 * R5: one reader stalls while 200 MB pass, then reads on: what the server keeps
 * for it over the same run without it, and how long its catch-up stops the
 * event loop at most.
 */
import { type IncomingMessage, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { EXTENSION, type Target } from "../client.ts";
import { median, numberNamed, printRow } from "./row.ts";
import { sabotageNamed } from "./sabotage.ts";
import {
  startWatchedServer,
  type Watched,
  type WatchedServer,
} from "./watched-server.ts";

/** A call writes a file of this size; its events hold it some five times. */
const FILE_BYTES = 1_200_000;
const CALLS = 36;
/** How often each run is made. */
const ROUNDS = numberNamed("rounds", 5);
/**
 * The server collects its garbage each time that a reader has read this many
 * bytes.
 */
const COLLECTED_BYTES = 20e6;

/**
 * What a server held while a reader read: the most that a collection of its
 * garbage left, in MB.
 */
interface Held {
  /** Objects of JavaScript, with what they hold outside of the heap. */
  readonly liveMb: number;
  readonly residentMb: number;
  /** The bytes that the reader read. */
  readonly bytes: number;
}

/** How much more was held in a run, in MB. */
const growths: { readonly liveMb: number; readonly residentMb: number }[] = [];
const stops: number[] = [];
const passed: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const without = await holdWithout();
  const { beside, catchUp } = await holdBeside();
  const { stopMs, wallMs } = await stopOfCatchUp();
  growths.push({
    liveMb: Math.max(beside.liveMb, catchUp.liveMb) - without.liveMb,
    residentMb:
      Math.max(beside.residentMb, catchUp.residentMb) - without.residentMb,
  });
  stops.push(stopMs);
  passed.push(beside.bytes / 1e6);
  const [alone, stalled, later] = [without, beside, catchUp].map(
    ({ liveMb, residentMb }) =>
      `${liveMb.toFixed(1)} (${residentMb.toFixed(0)})`,
  );
  console.log(
    `# ${Math.round(beside.bytes / 1e6)} MB passed; MB of living objects (resident) at most ${alone} without the stalled reader, ` +
      `${stalled} beside it, ${later} while it catches up; longest stop then ${wallMs.toFixed(0)} ms by the clock, ${stopMs.toFixed(0)} ms of the thread`,
  );
}
printRow({
  name: "R5.mb-passed",
  value: Math.min(...passed),
  target: { atLeast: 200 },
});
printGrowth(
  "R5.live-growth-mb",
  growths.map(({ liveMb }) => liveMb),
);
printGrowth(
  "R5.resident-growth-mb",
  growths.map(({ residentMb }) => residentMb),
);
printRow({
  name: "R5.catch-up.longest-stop-ms",
  value: median(stops),
  target: { atMost: 50 },
});

function printGrowth(name: string, ofRounds: readonly number[]): void {
  console.log(
    `# ${name}: ${Math.min(...ofRounds).toFixed(1)} to ${Math.max(...ofRounds).toFixed(1)} in ${ROUNDS} rounds`,
  );
  printRow({ name, value: median(ofRounds), target: { atMost: 32 } });
}

/** The run with a reader that keeps up, alone. */
async function holdWithout(): Promise<Held> {
  await using server = await startWatchedServer({ sabotage: sabotageNamed() });
  return await holdWhile(server, await begin(server));
}

/**
 * The run with one that stalls after its first event, and another one that
 * keeps up.
 */
async function holdBeside(): Promise<{
  readonly beside: Held;
  readonly catchUp: Held;
}> {
  await using server = await startWatchedServer({ sabotage: sabotageNamed() });
  const { stalled, taskId } = await stall(server);
  const beside = await holdWhile(server, await subscribe(server, taskId));
  return { beside, catchUp: await holdWhile(server, stalled) };
}

/** The same without collections, which would stop the loop themselves. */
async function stopOfCatchUp(): Promise<Watched> {
  await using server = await startWatchedServer({ sabotage: sabotageNamed() });
  const { stalled, taskId } = await stall(server);
  for await (const _chunk of await subscribe(server, taskId));
  await delay(500);
  await server.watch();
  for await (const _chunk of stalled);
  return await server.watch();
}

/**
 * Reads a response to its end, and has the server collect its garbage on the
 * way.
 */
async function holdWhile(
  server: WatchedServer,
  response: IncomingMessage,
): Promise<Held> {
  const collected: Watched[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    bytes += chunk.length;
    if (bytes >= (collected.length + 1) * COLLECTED_BYTES) {
      collected.push(await server.watchLive());
    }
  }
  return {
    liveMb: Math.max(
      ...collected.map(({ heapMb, externalMb }) => heapMb + externalMb),
    ),
    residentMb: Math.max(...collected.map(({ residentMb }) => residentMb)),
    bytes,
  };
}

/** Begins the task, whose reader stalls after its first event. */
async function stall(
  server: Target,
): Promise<{ readonly stalled: IncomingMessage; readonly taskId: string }> {
  const stalled = await begin(server);
  const taskId = await new Promise<string>((resolve) =>
    stalled.once("data", (chunk: Buffer) => {
      stalled.pause();
      resolve(/"id":"([0-9a-f-]{36})"/.exec(chunk.toString())?.[1] ?? "");
    }),
  );
  return { stalled, taskId };
}

/** Begins the task that writes the files. */
function begin(server: Target): Promise<IncomingMessage> {
  const text = Array.from(
    { length: CALLS },
    () => `hugeargs ${FILE_BYTES}`,
  ).join("\nnext\n");
  return call(server, "message/stream", {
    message: {
      kind: "message",
      role: "user",
      messageId: "m1",
      parts: [{ kind: "text", text }],
    },
  });
}

function subscribe(server: Target, taskId: string): Promise<IncomingMessage> {
  return call(server, "tasks/resubscribe", { id: taskId });
}

function call(
  { url, token }: Target,
  method: string,
  params: object,
): Promise<IncomingMessage> {
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    authorization: `Bearer ${token}`,
    "x-a2a-extensions": EXTENSION,
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers }, resolve);
    sent
      .on("error", reject)
      .end(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  });
}
