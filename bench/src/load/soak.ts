/** R16: half an hour at 50 turns a second, whose clients come and go: what a server keeps of them. */
import { setTimeout as delay } from "node:timers/promises";
import { closeConnections } from "../client.ts";
import { Churn } from "./churn.ts";
import { type Sample, slopePerMinute, watchMemory } from "./memory-slope.ts";
import { numberNamed, printRow } from "./row.ts";
import { sabotageNamed } from "./sabotage.ts";
import { startWatchedServer } from "./watched-server.ts";

const MINUTES = numberNamed("minutes", 30);
const PER_SECOND = 50;
/** The share of the time that counts as warm-up: code is compiled, pools and caches fill. */
const WARM = 0.25;
/** In a shorter run the resident memory still grows with what is compiled, and living objects with what caches keep. */
const WHOLE_MINUTES = 20;

await using server = await startWatchedServer({ tickMs: 10, sabotage: sabotageNamed() });
const churn = new Churn(server);
await play(10);
await leave();
const before = await server.watch();
const { samples, livePerMinute } = await watchMemory(server, () => play(MINUTES * 60), MINUTES * WARM);
await leave();
const after = await server.watch();
const late = samples.filter(({ minute }) => minute >= MINUTES * WARM);
const isWhole = MINUTES >= WHOLE_MINUTES;
const residentPer10 = slopePerMinute(late) * 10;
console.log(`# ${churn.count} turns in ${MINUTES} minutes; ${span(samples)}`);
if (isWhole) printRow({ name: "R16.resident-mb-per-10-min", value: residentPer10, target: { atMost: 2 } });
else console.log(`# resident ${residentPer10.toFixed(0)} MB in 10 minutes: a row from ${WHOLE_MINUTES} minutes on`);
printRow({ name: "R16.live-mb-per-10-min", value: livePerMinute * 10, target: { atMost: isWhole ? 2 : 200 } });
printRow({ name: "R16.descriptor-growth", value: after.descriptors - before.descriptors, target: { atMost: 0 } });
printRow({ name: "R16.loop-delay-p99-ms", value: after.delayP99Ms, target: { atMost: 50 } });

/** Begins turns at their moments, whether earlier ones have ended or not. */
async function play(seconds: number): Promise<void> {
  const start = performance.now();
  const playing = new Set<Promise<void>>();
  for (let index = 0; index < seconds * PER_SECOND; index++) {
    const wait = start + (index * 1000) / PER_SECOND - performance.now();
    if (wait > 0) await delay(wait);
    const turn = churn.turn().finally(() => playing.delete(turn));
    playing.add(turn);
  }
  await Promise.all(playing);
}

/** Ends what clients keep open: of the server's descriptors only its own are left. */
async function leave(): Promise<void> {
  closeConnections();
  await delay(2000);
}

function span(taken: readonly Sample[]): string {
  return `resident ${taken.at(0)?.residentMb.toFixed(0)} MB, then ${taken.at(-1)?.residentMb.toFixed(0)} MB`;
}
