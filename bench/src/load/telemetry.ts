/**
 * Compares the processor time of a text turn with spans, which a collector on
 * this machine takes, and of one with spans that are turned off, with that of a
 * turn without. Beside them the SDK of OpenTelemetry makes the same spans in a
 * process that does nothing else: what nobody who uses it can be below. Blocks
 * of all four alternate, after as many turns as it takes until Node has compiled
 * what they run: in the first thousand, spans take five times as long.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { prompt, stream, taskIdOf } from "../client.ts";
import { devtoolOf, ROOT, type Subject, startSubject } from "../subject.ts";
import { median, numberNamed, printRow } from "./row.ts";

const BLOCKS = numberNamed("blocks", 16);
const TURNS = 40;
const WARM_BLOCKS = numberNamed("warm-blocks", 40);
/** A process may be slower than another one for as long as it lives. */
const STARTS = numberNamed("starts", 3);
/** The turns whose spans the SDK exports at once. */
const EXPORTED_TURNS = 170;

const received = { bytes: 0, requests: 0 };
const collector = createServer(async (request, response) => {
  for await (const chunk of request) received.bytes += chunk.length;
  received.requests++;
  response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
});
await new Promise<void>((listening) =>
  collector.listen(0, "127.0.0.1", listening),
);
const address = collector.address();
const port = typeof address === "object" && address ? address.port : 0;

const url = `http://127.0.0.1:${port}/`;
const spans = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url };
const sides = [
  { name: "without", env: {} },
  { name: "off", env: { ...spans, OTEL_SDK_DISABLED: "true" } },
  { name: "on", env: spans },
];

const starts: Awaited<ReturnType<typeof playStart>>[] = [];
for (let start = 0; start < STARTS; start++) starts.push(await playStart());
collector.closeAllConnections();
collector.close();

const inMiddle = (name: string): string =>
  median(starts.map(({ us }) => us(name))).toFixed(0);
console.log(
  `# a text turn takes ${inMiddle("without")} us of a processor, ${inMiddle("off")} with spans off, ${inMiddle("on")} with spans, whose SDK alone takes ${inMiddle("sdk")}; ${received.bytes} bytes in ${received.requests} requests`,
);
const cold = median(starts.map(({ coldRatio }) => coldRatio)).toFixed(2);
console.log(
  `# in the first ${WARM_BLOCKS * TURNS} turns of a server, spans make it ${cold} times as much`,
);
const ratioOf = (cost: (us: (name: string) => number) => number): number =>
  median(starts.map(({ us }) => cost(us) / us("without")));
printRow({
  name: "telemetry.off.cpu-ratio",
  value: ratioOf((us) => us("off")),
  target: { atMost: 1.02 },
});
printRow({
  name: "telemetry.on.cpu-ratio",
  value: ratioOf((us) => us("on")),
  target: { atMost: 1.1 },
});
printRow({
  name: "telemetry.sdk-alone.cpu-ratio",
  value: ratioOf((us) => us("without") + us("sdk")),
  target: { atMost: 1.1 },
});

/**
 * Plays the blocks with new processes. Returns what a turn of each takes in the
 * middle of its blocks, in microseconds.
 */
async function playStart() {
  await using servers = new AsyncDisposableStack();
  const players: { readonly name: string; readonly server: Subject }[] = [];
  for (const { name, env } of sides) {
    const command = { ...devtoolOf(ROOT), env };
    players.push({ name, server: servers.use(await startSubject(command)) });
  }
  const sdk = fork(fileURLToPath(new URL("sdk-spans.ts", import.meta.url)), [
    url,
  ]);
  const play = async (blocks: number) => {
    const costs = new Map<string, number[]>();
    const add = (name: string, us: number): void =>
      void costs.set(name, [...(costs.get(name) ?? []), us]);
    for (let block = 0; block < blocks; block++) {
      // Each begins in its turn: other load of the machine then affects all.
      for (const { name, server } of players) add(name, await turnUs(server));
      players.push(...players.splice(0, 1));
      add("sdk", await spansUs(sdk));
    }
    return (name: string): number => median(costs.get(name) ?? []);
  };
  const first = await play(WARM_BLOCKS);
  const us = await play(BLOCKS);
  sdk.kill();
  return { us, coldRatio: first("on") / first("without") };
}

/** Plays a block of turns in one task. Returns what one takes, in microseconds. */
async function turnUs(server: Subject): Promise<number> {
  const taskId = taskIdOf(await stream(server, prompt("text hello")));
  const before = server.processorMs();
  for (let turn = 0; turn < TURNS; turn++) {
    await stream(server, { ...prompt("text hello"), taskId });
  }
  return ((server.processorMs() - before) * 1000) / TURNS;
}

/**
 * Has the SDK make the spans of turns and export them. Returns what those of one
 * turn take, in microseconds.
 */
async function spansUs(sdk: ChildProcess): Promise<number> {
  sdk.send(EXPORTED_TURNS);
  const [us] = await once(sdk, "message");
  return us / EXPORTED_TURNS;
}
