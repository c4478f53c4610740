/**
 * R16: half an hour at 50 turns a second, whose clients come and go: what a
 * server keeps of them.
 */
import { setTimeout as delay } from "node:timers/promises";
import { closeConnections } from "../client.ts";
import { Churn } from "./churn.ts";
import { watchMemory } from "./memory-slope.ts";
import { numberNamed, printRow } from "./row.ts";
import { sabotageNamed } from "./sabotage.ts";
import { startWatchedServer } from "./watched-server.ts";

const MINUTES = numberNamed("minutes", 30);
const PER_SECOND = 50;
/**
 * The share of the time that counts as warm-up: code is compiled, pools and
 * caches fill.
 */
const WARM = 0.25;
/**
 * In a shorter run memory still grows with what is compiled, and with what
 * caches keep: the bounds are wider.
 */
const WHOLE_MINUTES = 20;

await using server = await startWatchedServer({
  tickMs: 10,
  sabotage: sabotageNamed(),
});
const churn = new Churn(server);
await churn.play(10, PER_SECOND);
await leave();
const before = await server.watch();
const begun = churn.count;
const { floorPerMinute, livePerMinute } = await watchMemory(
  server,
  () => churn.play(MINUTES * 60, PER_SECOND),
  {
    minutes: MINUTES,
    warmMinutes: MINUTES * WARM,
  },
);
await leave();
const after = await server.watch();
const atMost = MINUTES >= WHOLE_MINUTES ? 2 : 300;
/**
 * Ten minutes of these turns: on a machine that is too busy for the rate, what
 * a turn leaves counts as much as elsewhere.
 */
const tenMinutes = (10 * 60 * MINUTES * PER_SECOND) / (churn.count - begun);
console.log(`# ${churn.count} turns in ${MINUTES} minutes`);
printRow({
  name: "R16.resident-floor-mb-per-10-min",
  value: floorPerMinute * tenMinutes,
  target: { atMost },
});
printRow({
  name: "R16.live-mb-per-10-min",
  value: livePerMinute * tenMinutes,
  target: { atMost },
});
printRow({
  name: "R16.failed-turns",
  value: churn.failed,
  target: { atMost: 0 },
});
printRow({
  name: "R16.descriptor-growth",
  value: after.descriptors - before.descriptors,
  target: { atMost: 0 },
});
printRow({
  name: "R16.loop-stop-p99-ms",
  value: after.stopP99Ms,
  target: { atMost: 50 },
});
printRow({
  name: "R16.loop-delay-p99-ms",
  value: after.delayP99Ms,
  target: { atMost: 50 },
});

/**
 * Ends what clients keep open: of the server's descriptors only its own are
 * left.
 */
async function leave(): Promise<void> {
  closeConnections();
  await delay(2000);
}
