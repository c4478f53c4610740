/** R16: at full load, resident memory reaches a plateau. */
import { Churn } from "./churn.ts";
import { watchMemory } from "./memory-slope.ts";
import { numberNamed, printRow } from "./row.ts";
import { sabotageNamed } from "./sabotage.ts";
import { startWatchedServer } from "./watched-server.ts";

const MINUTES = numberNamed("minutes", 10);
const CLIENTS = 32;
/**
 * In a shorter run memory still grows with what is compiled, and with what
 * caches keep: the bounds are wider.
 */
const WHOLE_MINUTES = 8;

await using server = await startWatchedServer({
  tickMs: 10,
  sabotage: sabotageNamed(),
});
const churn = new Churn(server);
const { floorPerMinute, livePerMinute } = await watchMemory(server, playFully, {
  minutes: MINUTES,
  warmMinutes: MINUTES / 2,
});
const atMost = MINUTES >= WHOLE_MINUTES ? 1 : 20;
console.log(`# ${Math.round(churn.count / (MINUTES * 60))} turns a second`);
printRow({
  name: "R16.full-load.resident-floor-mb-per-min",
  value: floorPerMinute,
  target: { atMost },
});
printRow({
  name: "R16.full-load.live-mb-per-min",
  value: livePerMinute,
  target: { atMost },
});
printRow({
  name: "R16.full-load.failed-turns",
  value: churn.failed,
  target: { atMost: 0 },
});

/** Clients that each begin a turn when their last one has ended. */
async function playFully(): Promise<void> {
  const end = performance.now() + MINUTES * 60_000;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (performance.now() < end) await churn.turn();
    }),
  );
}
