import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { ModelEvent } from "@devtool/coding-agent/model";
import { NoticeSchema } from "@devtool/schema";
import { GeminiFault } from "./gemini-fault.ts";
import type { RetryPolicy } from "./gemini-options.ts";

/** When and how a request is sent again. */
export interface Retrying {
  readonly policy: RetryPolicy;
  /** Gives a number from 0 to below 1. */
  readonly random: () => number;
  /** Waits. Default: the platform's timer. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** One try: what it yields before it fails is the beginning of an answer, and that is not asked for again. */
export type Attempt = (signal: AbortSignal) => AsyncIterable<ModelEvent>;

/**
 * Tries until an answer begins, with exponential backoff and full jitter; waits at least as long as the API asks. Each
 * further try is told of before its wait. Throws the fault of the last try.
 */
export async function* retried(
  attempt: Attempt,
  { policy, random, sleep = wait }: Retrying,
  signal: AbortSignal,
): AsyncIterable<ModelEvent> {
  for (let tries = 1; ; tries++) {
    let begun = false;
    try {
      for await (const event of attempt(signal)) {
        begun = true;
        yield event;
      }
      return;
    } catch (reason) {
      signal.throwIfAborted();
      const fault = GeminiFault.from(reason);
      const waitMs = Math.max(backoffMs(tries, policy, random), fault.retryAfterMs);
      if (begun || !fault.retriable || fault.retryAfterMs > policy.maxRetryAfterMs) throw fault;
      if (tries >= policy.maxAttempts) throw exhausted(fault, tries);
      yield notice(fault, { waitMs, tries });
      await sleep(waitMs, signal);
    }
  }
}

/** A wait before the next try: anything up to a bound that doubles with each. */
function backoffMs(tries: number, { baseDelayMs, maxDelayMs }: RetryPolicy, random: () => number): number {
  return Math.round(random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (tries - 1)));
}

function notice(
  { problem }: GeminiFault,
  { waitMs, tries }: { readonly waitMs: number; readonly tries: number },
): ModelEvent {
  const text = `${problem}: it is asked again in ${(waitMs / 1000).toFixed(1)} s`;
  return {
    case: "notice",
    value: create(NoticeSchema, { text, attempt: tries, retryDelay: durationFromMs(waitMs) }),
  };
}

function exhausted({ problem, code, remedy, cause }: GeminiFault, tries: number): GeminiFault {
  return new GeminiFault(tries === 1 ? problem : `${problem} (${tries} tries)`, code, { remedy, cause });
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal });
}
