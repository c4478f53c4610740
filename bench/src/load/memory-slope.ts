import { setTimeout as delay } from "node:timers/promises";
import type { WatchedServer } from "./watched-server.ts";

/** A figure at a moment of a run. */
interface Sample {
  readonly minute: number;
  readonly mb: number;
}

/** By how many MB a minute a server grew since the warm-up. */
export interface MemoryGrowth {
  /** Living objects, with what they hold outside of the heap. */
  readonly livePerMinute: number;
  /**
   * Resident memory right after collections: without garbage, and without the
   * pages that V8 keeps for more of it.
   */
  readonly floorPerMinute: number;
}

/**
 * How long something runs, and how much of that is a warm-up: code is compiled,
 * pools and caches fill.
 */
export interface WatchedTime {
  readonly minutes: number;
  readonly warmMinutes: number;
}

const EVERY_MS = 5000;
/** The number of collections in a run. */
const COLLECTIONS = 20;

/**
 * Follows the memory of a server while something runs, prints it each minute,
 * and returns by how much it grew.
 */
export async function watchMemory(
  server: WatchedServer,
  run: () => Promise<void>,
  { minutes, warmMinutes }: WatchedTime,
): Promise<MemoryGrowth> {
  const course = new MemoryCourse(server, (minutes * 60_000) / COLLECTIONS);
  const running = new AbortController();
  const following = course.follow(running.signal);
  await run().finally(() => running.abort());
  await following;
  return course.growthSince(warmMinutes);
}

/**
 * The memory of a server over time.
 *
 * V8 fills pages with garbage between two collections of its own choice, and
 * keeps the pages for more: resident memory as it is follows the largest heap
 * so far. A leak raises what is left right after a collection, so the server
 * collects at even intervals.
 */
class MemoryCourse {
  readonly #server: WatchedServer;
  readonly #collectEveryMs: number;
  readonly #start = performance.now();
  readonly #resident: Sample[] = [];
  readonly #floor: Sample[] = [];
  readonly #live: Sample[] = [];

  constructor(server: WatchedServer, collectEveryMs: number) {
    this.#server = server;
    this.#collectEveryMs = collectEveryMs;
  }

  /** Takes samples until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const everyMs = Math.min(EVERY_MS, this.#collectEveryMs);
    for (
      let printed = -1;
      !signal.aborted;
      await delay(everyMs, undefined, { signal }).catch(() => undefined)
    ) {
      const seen = await this.#server.watch();
      const minute = this.#minute;
      this.#resident.push({ minute, mb: seen.residentMb });
      if (Math.floor(minute) > printed) {
        printed = Math.floor(minute);
        const parts =
          `heap ${seen.heapMb.toFixed(0)} in pages of ${seen.heapPagesMb.toFixed(0)}, outside of it ${seen.externalMb.toFixed(0)}, ` +
          `${seen.descriptors} descriptors`;
        console.log(
          `# minute ${printed}: resident ${seen.residentMb.toFixed(1)} MB, ${parts}`,
        );
      }
      if (minute * 60_000 >= (this.#floor.length + 1) * this.#collectEveryMs) {
        await this.#collect();
      }
    }
  }

  /** Returns the growth by the samples since a minute, which it prints. */
  growthSince(warmMinutes: number): MemoryGrowth {
    const [resident = [], floor = [], live = []] = [
      this.#resident,
      this.#floor,
      this.#live,
    ].map((samples) => samples.filter(({ minute }) => minute >= warmMinutes));
    const middle = (warmMinutes + this.#minute) / 2;
    const halves = (samples: readonly Sample[]): string => {
      const [early, late] = [
        samples.filter((one) => one.minute < middle),
        samples.filter((one) => one.minute >= middle),
      ];
      return [early, late]
        .map((half) => Math.max(...half.map(({ mb }) => mb)).toFixed(1))
        .join(", then ");
    };
    console.log(
      `# MB at most in the halves after the warm-up: living objects ${halves(live)}`,
    );
    console.log(
      `# resident after a collection ${halves(floor)}, between collections ${halves(resident)}`,
    );
    return {
      livePerMinute: slopePerMinute(live),
      floorPerMinute: slopePerMinute(floor),
    };
  }

  get #minute(): number {
    return (performance.now() - this.#start) / 60_000;
  }

  async #collect(): Promise<void> {
    const { residentMb, heapMb, externalMb } = await this.#server.watchLive();
    const minute = this.#minute;
    this.#floor.push({ minute, mb: residentMb });
    this.#live.push({ minute, mb: heapMb + externalMb });
    console.log(
      `# a collection left ${residentMb.toFixed(1)} MB resident, ${(heapMb + externalMb).toFixed(1)} MB of living objects`,
    );
  }
}

/**
 * The slope of the line that lies nearest to the samples (least squares), in MB
 * a minute.
 */
function slopePerMinute(samples: readonly Sample[]): number {
  const mean = (of: (sample: Sample) => number): number =>
    samples.reduce((sum, one) => sum + of(one), 0) / samples.length;
  const minute = mean((one) => one.minute);
  const mb = mean((one) => one.mb);
  return (
    mean((one) => (one.minute - minute) * (one.mb - mb)) /
    mean((one) => (one.minute - minute) ** 2)
  );
}
