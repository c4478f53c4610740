import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { ModelEvent } from "@devtool/coding-agent/model";
import { NoticeSchema } from "@devtool/schema";
import { GeminiFault } from "./gemini-fault.ts";
import type { RetryPolicy } from "./gemini-options.ts";

/** When and how a request is sent again. */
export interface Retries {
  readonly policy: RetryPolicy;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
  /** Waits between attempts, in milliseconds. Default: the platform's timer. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}

/** Sends the request once. An attempt that fails after it yielded something is not repeated. */
export type Attempt = (signal: AbortSignal) => AsyncIterable<ModelEvent>;

/**
 * Repeats an attempt until an answer begins, with exponential backoff and full jitter.
 *
 * It waits at least as long as the API asks, and yields a notice before each wait. Throws the fault of the last attempt, or the
 * signal's reason.
 */
export async function* withRetries(
  attempt: Attempt,
  { policy, random, sleep = wait }: Retries,
  signal: AbortSignal,
): AsyncIterable<ModelEvent> {
  const { maxAttempts, baseDelayMs, maxDelayMs, maxRetryAfterMs } = policy;
  for (let attempts = 1; ; attempts++) {
    let hasBegun = false;
    try {
      for await (const event of attempt(signal)) {
        hasBegun = true;
        yield event;
      }
      return;
    } catch (reason) {
      signal.throwIfAborted();
      const fault = GeminiFault.from(reason);
      if (hasBegun || !fault.retriable || fault.retryAfterMs > maxRetryAfterMs) throw fault;
      if (attempts >= maxAttempts) throw exhausted(fault, attempts);
      const backoffMs = Math.round(random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (attempts - 1)));
      const waitMs = Math.max(backoffMs, fault.retryAfterMs);
      yield notice(fault, attempts, waitMs);
      await sleep(waitMs, signal);
    }
  }
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal });
}

function notice({ problem }: GeminiFault, attempt: number, waitMs: number): ModelEvent {
  const text = `${problem}: it is asked again in ${(waitMs / 1000).toFixed(1)} s`;
  return { case: "notice", value: create(NoticeSchema, { text, attempt, retryDelay: durationFromMs(waitMs) }) };
}

/** Returns the fault of the last attempt, with the number of attempts in its message. */
function exhausted({ problem, code, remedy, cause }: GeminiFault, attempts: number): GeminiFault {
  return new GeminiFault(attempts === 1 ? problem : `${problem} (${attempts} tries)`, code, { remedy, cause });
}
