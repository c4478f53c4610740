/**
 * Half an hour of turns at a server that keeps few of its tasks: its memory, and
 * the file of its tasks.
 *
 * Between two looks for what to delete, the file grows by the turns of that
 * time, whose space is used again after the next one: how large it is at a
 * moment says how busy the machine was. So what is in use is compared at two
 * moments of rest, after a deletion. What stays of a task that was deleted is
 * its record in the audit log, and for a day the ids of its messages.
 */
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Churn } from "./churn.ts";
import { LOOK_MS } from "./frequent-looks.ts";
import { watchMemory } from "./memory-slope.ts";
import { numberNamed, printRow } from "./row.ts";
import { sabotageNamed } from "./sabotage.ts";
import { startWatchedServer } from "./watched-server.ts";

const MINUTES = numberNamed("minutes", 30);
const PER_SECOND = numberNamed("per-second", 25);
/** A turn of about 9 KB. */
const PROMPT = "think\nsay 40 200";
/** The share of the time that counts as warm-up of the memory: caches fill. */
const WARM = 0.4;
/** The share of the time after which the server has all that it keeps. */
const FILLED = 0.2;
/** In a shorter run, all still grows: the bounds are wider. */
const WHOLE_MINUTES = 20;

await using server = await startWatchedServer({
  main: "retaining-server.ts",
  tickMs: 10,
  sabotage: sabotageNamed(),
});
const churn = new Churn(server, PROMPT);
const file = `${server.workspace}-data/tasks.db`;
let filled = { turns: 0, bytes: 0 };
let last = filled;
const { floorPerMinute, livePerMinute } = await watchMemory(
  server,
  async () => {
    const playing = new AbortController();
    const following = followFile(playing.signal);
    await churn.play(MINUTES * 60 * FILLED, PER_SECOND);
    filled = await rest();
    await churn.play(MINUTES * 60 * (1 - FILLED), PER_SECOND);
    last = await rest();
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
  name: "retention.kept-bytes-per-turn",
  value: (last.bytes - filled.bytes) / (last.turns - filled.turns),
  target: { atMost: 1000 },
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

/** Prints each minute what is in use in the file. */
async function followFile(signal: AbortSignal): Promise<void> {
  for (let minute = 0; !signal.aborted; minute++) {
    const [used, whole, log] = [
      usedBytes(),
      statSync(file).size,
      statSync(`${file}-wal`).size,
    ].map((size) => (size / 1e6).toFixed(1));
    console.log(
      `# minute ${minute}: ${used} MB in use of a file of ${whole} MB, its log ${log} MB, ${churn.count} turns`,
    );
    await delay(60_000, undefined, { signal }).catch(() => undefined);
  }
}

/** Waits until nothing is deleted any more, and returns what is in use then. */
async function rest(): Promise<typeof last> {
  let bytes = usedBytes();
  for (
    let since = performance.now();
    performance.now() - since < 2 * LOOK_MS;
  ) {
    await delay(1000);
    const now = usedBytes();
    if (now !== bytes) since = performance.now();
    bytes = now;
  }
  console.log(`# at rest: ${bytes} bytes in use after ${churn.count} turns`);
  return { turns: churn.count, bytes };
}

/**
 * Reads the size of the pages in use from the header of the file, as its last
 * checkpoint left it (https://sqlite.org/fileformat.html, section 1.3).
 */
function usedBytes(): number {
  const header = Buffer.alloc(100);
  const descriptor = openSync(file, "r");
  readSync(descriptor, header, 0, header.length, 0);
  closeSync(descriptor);
  const pages = header.readUInt32BE(28) - header.readUInt32BE(36);
  return pages * header.readUInt16BE(16);
}
