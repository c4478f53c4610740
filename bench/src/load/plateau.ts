/** R16: at full load, resident memory reaches a plateau. */
import { Churn } from "./churn.ts";
import { slopePerMinute, watchMemory } from "./memory-slope.ts";
import { numberNamed, printRow } from "./row.ts";
import { sabotageNamed } from "./sabotage.ts";
import { startWatchedServer } from "./watched-server.ts";

const MINUTES = numberNamed("minutes", 10);
const CLIENTS = 32;
/** In a shorter run the resident memory still grows with what is compiled, and living objects with what caches keep. */
const WHOLE_MINUTES = 8;

await using server = await startWatchedServer({ tickMs: 10, sabotage: sabotageNamed() });
const churn = new Churn(server);
const { samples, livePerMinute } = await watchMemory(server, playFully, MINUTES / 2);
const late = samples.filter(({ minute }) => minute >= MINUTES / 2);
const isWhole = MINUTES >= WHOLE_MINUTES;
const residentPerMinute = slopePerMinute(late);
console.log(`# ${Math.round(churn.count / (MINUTES * 60))} turns a second`);
if (isWhole) printRow({ name: "R16.full-load.resident-mb-per-min", value: residentPerMinute, target: { atMost: 1 } });
else console.log(`# resident ${residentPerMinute.toFixed(0)} MB a minute: a row from ${WHOLE_MINUTES} minutes on`);
printRow({ name: "R16.full-load.live-mb-per-min", value: livePerMinute, target: { atMost: isWhole ? 1 : 20 } });

/** Clients that each begin a turn when their last one has ended. */
async function playFully(): Promise<void> {
  const end = performance.now() + MINUTES * 60_000;
  const client = async (): Promise<void> => {
    while (performance.now() < end) await churn.turn();
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
}
