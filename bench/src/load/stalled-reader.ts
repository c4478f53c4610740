/**
 * R5: one reader stalls while 200 MB pass, then reads on: how much memory that costs over the same run without it, and how
 * long its catch-up stops the event loop at most.
 */
import { type IncomingMessage, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { EXTENSION, type Target } from "../client.ts";
import { median, numberNamed, printRow } from "./row.ts";
import { sabotageNamed } from "./sabotage.ts";
import { startWatchedServer, type Watched } from "./watched-server.ts";

/** A call writes a file of this size; its events hold it some five times. */
const FILE_BYTES = 1_200_000;
const CALLS = 36;
/** How often each run is made: peaks of one run differ with the moments of garbage collection. */
const ROUNDS = numberNamed("rounds", 3);

const growths: number[] = [];
const stops: number[] = [];
const passed: number[] = [];
for (let round = 0; round < ROUNDS; round++) {
  const without = await runWithout();
  const { produced, caughtUp, bytes } = await runStalled();
  growths.push(Math.max(produced.peakMb, caughtUp.peakMb) - without.peakMb);
  stops.push(caughtUp.stopMs);
  passed.push(bytes / 1e6);
  console.log(
    `# ${Math.round(bytes / 1e6)} MB passed; resident at most ${Math.round(without.peakMb)} MB without the stalled reader, ` +
      `${Math.round(produced.peakMb)} MB beside it, ${Math.round(caughtUp.peakMb)} MB while it catches up; longest stop then ` +
      `${caughtUp.wallMs.toFixed(0)} ms by the clock, ${caughtUp.stopMs.toFixed(0)} ms of the thread`,
  );
}
printRow({ name: "R5.mb-passed", value: Math.min(...passed), target: { atLeast: 200 } });
printRow({ name: "R5.growth-mb", value: median(growths), target: { atMost: 32 } });
printRow({ name: "R5.catch-up.longest-stop-ms", value: median(stops), target: { atMost: 50 } });

/** The run with a reader that keeps up, alone. */
async function runWithout(): Promise<Watched> {
  await using server = await startWatchedServer({ sabotage: sabotageNamed() });
  await bytesOf(await begin(server));
  return await server.watch();
}

/** The run with one that stalls after its first event, and another one that keeps up. */
async function runStalled(): Promise<{
  readonly produced: Watched;
  readonly caughtUp: Watched;
  readonly bytes: number;
}> {
  await using server = await startWatchedServer({ sabotage: sabotageNamed() });
  const stalled = await begin(server);
  const taskId = await new Promise<string>((resolve) =>
    stalled.once("data", (chunk: Buffer) => {
      stalled.pause();
      resolve(/"id":"([0-9a-f-]{36})"/.exec(chunk.toString())?.[1] ?? "");
    }),
  );
  const bytes = await bytesOf(await call(server, "tasks/resubscribe", { id: taskId }));
  const produced = await server.watch();
  await delay(500);
  await server.watch();
  await bytesOf(stalled);
  return { produced, caughtUp: await server.watch(), bytes };
}

/** Begins the task that writes the files. */
function begin(server: Target): Promise<IncomingMessage> {
  const text = Array.from({ length: CALLS }, () => `hugeargs ${FILE_BYTES}`).join("\nnext\n");
  return call(server, "message/stream", {
    message: { kind: "message", role: "user", messageId: "m1", parts: [{ kind: "text", text }] },
  });
}

function call({ url, token }: Target, method: string, params: object): Promise<IncomingMessage> {
  const headers = {
    "content-type": "application/json",
    accept: "text/event-stream",
    authorization: `Bearer ${token}`,
    "x-a2a-extensions": EXTENSION,
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers }, resolve);
    sent.on("error", reject).end(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  });
}

async function bytesOf(response: IncomingMessage): Promise<number> {
  let bytes = 0;
  for await (const chunk of response) bytes += chunk.length;
  return bytes;
}
