import { setTimeout as delay } from "node:timers/promises";
import type { WatchedServer } from "./watched-server.ts";

/** The memory of a server at a moment. */
export interface Sample {
  readonly minute: number;
  readonly residentMb: number;
}

/** The memory of a server while something ran. */
export interface MemoryCourse {
  readonly samples: readonly Sample[];
  /** By how many MB a minute living objects grew, with what they hold outside of the heap, since the warm-up. */
  readonly livePerMinute: number;
}

const EVERY_MS = 5000;

/** Looks at the memory of a server while something runs, and prints it each minute. Warm-up ends at a minute. */
export async function watchMemory(
  server: WatchedServer,
  run: () => Promise<void>,
  warmMinutes: number,
): Promise<MemoryCourse> {
  const samples: Sample[] = [];
  const start = performance.now();
  const minuteNow = (): number => (performance.now() - start) / 60_000;
  let warm: { readonly minute: number; readonly liveMb: number } | undefined;
  const running = new AbortController();
  const watching = (async () => {
    for (let printed = -1; !running.signal.aborted; ) {
      const minute = minuteNow();
      const { residentMb, heapMb, heapPagesMb, externalMb, descriptors } = await server.watch();
      samples.push({ minute, residentMb });
      if (Math.floor(minute) > printed) {
        printed = Math.floor(minute);
        const parts =
          `heap ${heapMb.toFixed(0)} in pages of ${heapPagesMb.toFixed(0)}, outside of it ${externalMb.toFixed(0)}, ` +
          `${descriptors} descriptors`;
        console.log(`# minute ${printed}: resident ${residentMb.toFixed(1)} MB, ${parts}`);
      }
      if (minute >= warmMinutes) warm ??= { minute, liveMb: await liveMb(server) };
      await delay(EVERY_MS, undefined, { signal: running.signal }).catch(() => undefined);
    }
  })();
  await run().finally(() => running.abort());
  await watching;
  const end = { minute: minuteNow(), liveMb: await liveMb(server) };
  const from = warm ?? { minute: 0, liveMb: 0 };
  console.log(
    `# living objects ${from.liveMb.toFixed(1)} MB after the warm-up, ${end.liveMb.toFixed(1)} MB at the end`,
  );
  return { samples, livePerMinute: (end.liveMb - from.liveMb) / (end.minute - from.minute) };
}

async function liveMb(server: WatchedServer): Promise<number> {
  const { heapMb, externalMb } = await server.watchLive();
  return heapMb + externalMb;
}

/** The slope of the line that lies nearest to the samples (least squares), in MB a minute. */
export function slopePerMinute(samples: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, one) => sum + of(one), 0) / samples.length;
  const minute = mean((one) => one.minute);
  const resident = mean((one) => one.residentMb);
  const rise = mean((one) => (one.minute - minute) * (one.residentMb - resident));
  return rise / mean((one) => (one.minute - minute) ** 2);
}
