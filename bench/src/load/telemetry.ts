/**
 * Compares the processor time of a text turn with spans, which a collector on
 * this machine takes, with that of a turn without. Blocks of both alternate.
 */
import { createServer } from "node:http";
import { prompt, stream, taskIdOf } from "../client.ts";
import { devtoolOf, ROOT, type Subject, startSubject } from "../subject.ts";
import { median, numberNamed, printRow } from "./row.ts";

const BLOCKS = numberNamed("blocks", 24);
const TURNS = 40;

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
await using without = await startSubject(command);
await using traced = await startSubject({
  ...command,
  env: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `http://127.0.0.1:${port}/` },
});

await turnUs(without);
await turnUs(traced);
const ratios: number[] = [];
const costs: [number, number][] = [];
for (let block = 0; block < BLOCKS; block++) {
  const isFirst = block % 2 === 0;
  const one = await turnUs(isFirst ? without : traced);
  const other = await turnUs(isFirst ? traced : without);
  const [off, on] = isFirst ? [one, other] : [other, one];
  ratios.push(on / off);
  costs.push([off, on]);
}
const [off, on] = [0, 1].map((index) =>
  median(costs.map((cost) => cost[index] ?? 0)),
);
console.log(
  `# a text turn takes ${off?.toFixed(0)} us of a processor, ${on?.toFixed(0)} with spans; ${received.bytes} bytes in ${received.requests} requests`,
);
printRow({
  name: "telemetry.text-turn.cpu-ratio",
  value: median(ratios),
  target: { atMost: 1.3 },
});
collector.closeAllConnections();
collector.close();

/** Plays a block of turns in one task. Returns what one takes, in microseconds. */
async function turnUs(server: Subject): Promise<number> {
  const taskId = taskIdOf(await stream(server, prompt("text hello")));
  const before = server.processorMs();
  for (let turn = 0; turn < TURNS; turn++) {
    await stream(server, { ...prompt("text hello"), taskId });
  }
  return ((server.processorMs() - before) * 1000) / TURNS;
}
