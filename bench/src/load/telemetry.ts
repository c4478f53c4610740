/**
 * Compares the processor time of a text turn with spans, which a collector on
 * this machine takes, and of one with spans that are turned off, with that of a
 * turn without. Beside them the SDK of OpenTelemetry makes the same spans in a
 * process that does nothing else: what nobody who uses it can be below. Blocks
 * of all four alternate.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { prompt, stream, taskIdOf } from "../client.ts";
import { devtoolOf, ROOT, type Subject, startSubject } from "../subject.ts";
import { median, numberNamed, printRow } from "./row.ts";

const BLOCKS = numberNamed("blocks", 24);
const TURNS = 40;
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

const command = devtoolOf(ROOT);
const wanted = {
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${port}/`,
};
const disabled = { ...wanted, OTEL_SDK_DISABLED: "true" };
await using without = await startSubject(command);
await using off = await startSubject({ ...command, env: disabled });
await using on = await startSubject({ ...command, env: wanted });

const sdk = fork(fileURLToPath(new URL("sdk-spans.ts", import.meta.url)), [
  `http://127.0.0.1:${port}/`,
]);
const sdkUs: number[] = [];

const servers = [without, off, on];
for (const server of servers) await turnUs(server);
const costs = new Map<Subject, number[]>(servers.map((each) => [each, []]));
for (let block = 0; block < BLOCKS; block++) {
  // Each begins in its turn: other load of the machine then affects all.
  for (let place = 0; place < servers.length; place++) {
    const server = servers[(block + place) % servers.length];
    if (server) costs.get(server)?.push(await turnUs(server));
  }
  sdkUs.push(await spansUs());
}
sdk.kill();
const us = servers.map((each) => median(costs.get(each) ?? []).toFixed(0));
console.log(
  `# a text turn takes ${us[0]} us of a processor, ${us[1]} with spans off, ${us[2]} with spans; ${received.bytes} bytes in ${received.requests} requests`,
);
printRow({
  name: "telemetry.off.cpu-ratio",
  value: ratioOf(off),
  target: { atMost: 1.02 },
});
printRow({
  name: "telemetry.on.cpu-ratio",
  value: ratioOf(on),
  target: { atMost: 1.1 },
});
printRow({
  name: "telemetry.sdk-alone.cpu-ratio",
  value: 1 + median(sdkUs) / median(costs.get(without) ?? []),
  target: { atMost: 1.1 },
});
collector.closeAllConnections();
collector.close();

/** The cost of a turn over that of one without, in the middle of all blocks. */
function ratioOf(server: Subject): number {
  const base = costs.get(without) ?? [];
  const ratios = costs.get(server)?.map((cost, at) => cost / (base[at] ?? 0));
  return median(ratios ?? []);
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
async function spansUs(): Promise<number> {
  sdk.send(EXPORTED_TURNS);
  const [us] = await once(sdk, "message");
  return us / EXPORTED_TURNS;
}
