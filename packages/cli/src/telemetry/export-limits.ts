import { setTimeout as delay } from "node:timers/promises";

/** The timeout of a request to the collector in milliseconds. */
export const REQUEST_MS = 10_000;

/** The code of a result by which an exporter says that it has sent a batch. */
export const SUCCESS = 0;

/** The time in milliseconds in which the last batch must be sent at the end. */
const FLUSH_MS = 3000;

/** Waits until an exporter has ended, 3 seconds at most. */
export async function withinFlushTime(shutdown: Promise<void>): Promise<void> {
  const over = new AbortController();
  const flushed = shutdown.catch(() => undefined);
  const late = delay(FLUSH_MS, undefined, { signal: over.signal });
  await Promise.race([flushed, late]);
  over.abort();
  await late.catch(() => undefined);
}
