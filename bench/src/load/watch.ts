import { readdirSync, readFileSync } from "node:fs";
import { createHistogram } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { collectGarbage } from "../../../test/collect-garbage.ts";
import type { Target } from "../client.ts";

const PEAK_MS = 100;

/** The line to which a server collects its garbage before it answers. */
export const COLLECT = "collect";

/**
 * Prints where a server is, then answers each line on its input with one of
 * JSON: what happened since the last. `tickMs` is the interval at which the
 * event loop is checked.
 */
export async function watchOver(
  { url, token }: Target,
  tickMs: number,
): Promise<void> {
  const watch = { stopMs: 0, wallMs: 0, peakMb: 0 };
  /** How late the loop was at each tick since the start, in microseconds. */
  const delays = createHistogram();
  /**
   * The processor time of the thread between two ticks since the start, in
   * microseconds.
   */
  const stops = createHistogram();
  let last = { cpu: process.threadCpuUsage(), at: performance.now() };
  setInterval(() => {
    const { user, system } = process.threadCpuUsage(last.cpu);
    watch.stopMs = Math.max(watch.stopMs, (user + system) / 1000);
    stops.record(Math.max(1, user + system));
    const wallMs = performance.now() - last.at;
    watch.wallMs = Math.max(watch.wallMs, wallMs);
    delays.record(Math.max(1, Math.round((wallMs - tickMs) * 1000)));
    last = { cpu: process.threadCpuUsage(), at: performance.now() };
  }, tickMs);
  setInterval(() => {
    watch.peakMb = Math.max(watch.peakMb, process.memoryUsage.rss() / 2 ** 20);
  }, PEAK_MS);
  let cpu = process.cpuUsage();
  let waited = waitedMs();
  console.log(JSON.stringify({ url, token }));
  for await (const line of createInterface({ input: process.stdin })) {
    if (line === COLLECT) collectGarbage();
    const used = process.cpuUsage(cpu);
    const cpuMs = (used.user + used.system) / 1000;
    const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
    const [residentMb, heapMb, heapPagesMb, externalMb] = [
      rss,
      heapUsed,
      heapTotal,
      external,
    ].map((bytes) => bytes / 2 ** 20);
    const memory = { residentMb, heapMb, heapPagesMb, externalMb };
    const descriptors = readdirSync("/proc/self/fd").length;
    const [delayP99Ms, stopP99Ms] = [delays, stops].map(
      (histogram) => histogram.percentile(99) / 1000,
    );
    console.log(
      JSON.stringify({
        ...watch,
        ...memory,
        cpuMs,
        waitMs: waitedMs() - waited,
        descriptors,
        delayP99Ms,
        stopP99Ms,
      }),
    );
    Object.assign(watch, { stopMs: 0, wallMs: 0, peakMb: 0 });
    cpu = process.cpuUsage();
    waited = waitedMs();
  }
}

/**
 * Returns how long this thread has waited for a processor so far, in
 * milliseconds: the second number of its `schedstat`, in nanoseconds.
 */
function waitedMs(): number {
  const [, waited] = readFileSync("/proc/self/schedstat", "utf8").split(" ");
  return Number(waited) / 1e6;
}
