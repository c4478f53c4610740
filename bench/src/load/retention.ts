/**
 * Half an hour of turns at a server that keeps few of its tasks: its memory, and
 * the file of its tasks.
 *
 * A server looks for what to delete a minute after its start and then every five
 * minutes, so the file is as large as what is kept and five minutes of turns.
 * What stays of a task that was deleted is its record in the audit log, and for
 * a day the id of its message.
 */
import { statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Churn } from "./churn.ts";
import { watchMemory } from "./memory-slope.ts";
import { numberNamed, printRow } from "./row.ts";
import { sabotageNamed } from "./sabotage.ts";
import { startWatchedServer } from "./watched-server.ts";

const MINUTES = numberNamed("minutes", 30);
const PER_SECOND = numberNamed("per-second", 25);
/** A turn of about 9 KB. */
const PROMPT = "think\nsay 40 200";
/**
 * The share of the time that counts as warm-up: caches fill, and the file has
 * its space for five minutes of turns.
 */
const WARM = 0.4;
/** In a shorter run, all still grows: the bounds are wider. */
const WHOLE_MINUTES = 20;

await using server = await startWatchedServer({
  main: "retaining-server.ts",
  tickMs: 10,
  sabotage: sabotageNamed(),
});
const churn = new Churn(server, PROMPT);
const sizes: { readonly turns: number; readonly bytes: number }[] = [];
const { floorPerMinute, livePerMinute } = await watchMemory(
  server,
  async () => {
    const playing = new AbortController();
    const following = followFile(playing.signal);
    await churn.play(MINUTES * 60, PER_SECOND);
    playing.abort();
    await following;
  },
  { minutes: MINUTES, warmMinutes: MINUTES * WARM },
);
const { stopP99Ms } = await server.watch();
console.log(
  `# ${churn.count} turns in ${MINUTES} minutes, 99 of 100 turns of the loop within ${stopP99Ms.toFixed(1)} ms`,
);
const isWhole = MINUTES >= WHOLE_MINUTES;
printRow({
  name: "retention.file-bytes-per-turn",
  value: growthPerTurn(),
  target: { atMost: isWhole ? 1000 : 1e6 },
});
printRow({
  name: "retention.resident-floor-mb-per-10-min",
  value: floorPerMinute * 10,
  target: { atMost: isWhole ? 2 : 300 },
});
printRow({
  name: "retention.live-mb-per-10-min",
  value: livePerMinute * 10,
  target: { atMost: isWhole ? 2 : 300 },
});
printRow({
  name: "retention.failed-turns",
  value: churn.failed,
  target: { atMost: 0 },
});

/** Notes and prints the size of the file each minute. */
async function followFile(signal: AbortSignal): Promise<void> {
  for (let minute = 0; !signal.aborted; minute++) {
    const [file = 0, log = 0] = ["tasks.db", "tasks.db-wal"].map(
      (name) => statSync(`${server.workspace}-data/${name}`).size,
    );
    sizes.push({ turns: churn.count, bytes: file });
    console.log(
      `# minute ${minute}: file ${(file / 1e6).toFixed(1)} MB, its log ${(log / 1e6).toFixed(1)} MB, ${churn.count} turns`,
    );
    await delay(60_000, undefined, { signal }).catch(() => undefined);
  }
}

/** By how many bytes the file grew for each turn since the warm-up. */
function growthPerTurn(): number {
  const warm = sizes[Math.floor(sizes.length * WARM)];
  const last = sizes.at(-1);
  if (!warm || !last || last.turns === warm.turns) return Number.NaN;
  return (last.bytes - warm.bytes) / (last.turns - warm.turns);
}
