/**
 * S3: how long a bomb takes until it is refused, and what another client waits
 * meanwhile. A test measures their memory.
 */
import { setTimeout as delay } from "node:timers/promises";
import { documentBombs } from "../../../test/hostile/bombs/documents.ts";
import { FLOODS, sendFlood } from "../../../test/hostile/bombs/floods.ts";
import { throwBomb } from "../../../test/hostile/bombs/throw-bomb.ts";
import { http1Client, http2Client } from "../../../test/hostile/clients.ts";
import { prompt, send } from "../client.ts";
import { numberNamed, printRow, quantile } from "./row.ts";
import { startWatchedServer } from "./watched-server.ts";

/** How often each bomb is thrown, after once to warm up. */
const ROUNDS = numberNamed("rounds", 2);

await using server = await startWatchedServer({ tickMs: 5 });
const healthy: number[] = [];
const slowest = { ms: 0, name: "" };
for (let index = 0; index < 200; index++) {
  await send(server, prompt("text hello"));
}
const bombs = documentBombs();
const done = new AbortController();
// The bombs are made before, and thrown one after the other, so that what is
// measured is the server.
await server.watch();
const [taken] = await Promise.all([
  throwAll().finally(() => done.abort()),
  askMeanwhile(),
]);
const { stopMs } = await server.watch();
for (const flood of FLOODS) await sendFlood(flood, server);
console.log(
  `# ${taken.length} bombs; the slowest: ${slowest.name}, ${slowest.ms.toFixed(0)} ms`,
);
printRow({
  name: "S3.refusal-p50-ms",
  value: quantile(taken, 0.5),
  target: { atMost: 50 },
});
printRow({
  name: "S3.refusal-max-ms",
  value: slowest.ms,
  target: { atMost: 50 },
});
// The time of the thread, without that of other processes.
printRow({ name: "S3.longest-stop-ms", value: stopMs, target: { atMost: 50 } });
printRow({
  name: "S3.healthy-p99-ms",
  value: quantile(healthy, 0.99),
  target: { atMost: 100 },
});

async function throwAll(): Promise<number[]> {
  const ms: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    for (const bomb of bombs) {
      using client = (bomb.client === "http1" ? http1Client : http2Client)(
        server.url,
        server.token,
      );
      // Connected, and compiled, before the clock runs.
      await throwBomb({ ...bomb, body: Buffer.from("x") }, client);
      const start = performance.now();
      await throwBomb(bomb, client);
      const took = performance.now() - start;
      if (round === 0) continue;
      ms.push(took);
      if (took > slowest.ms) {
        Object.assign(slowest, { ms: took, name: bomb.name });
      }
    }
  }
  return ms;
}

async function askMeanwhile(): Promise<void> {
  while (!done.signal.aborted) {
    healthy.push((await send(server, prompt("text hello"))).totalMs);
    await delay(5);
  }
}
