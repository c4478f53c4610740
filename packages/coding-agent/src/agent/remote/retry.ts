import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { NoticeSchema } from "@devtool/schema";
import type { ModelEvent } from "../model.ts";
import { ModelFault } from "./model-fault.ts";
import { DEFAULT_RETRY_POLICY, type RemoteOptions } from "./remote-options.ts";

/**
 * Repeats an attempt until an answer begins, with exponential backoff and full
 * jitter. An attempt that fails after it yielded something is not repeated.
 *
 * It waits at least as long as the API asks, and yields a notice before each
 * wait. Throws the fault of the last attempt, or the signal's reason.
 */
export async function* withRetries(
  attempt: (signal: AbortSignal) => AsyncIterable<ModelEvent>,
  { retry, random = Math.random, sleep }: RemoteOptions,
  signal: AbortSignal,
): AsyncIterable<ModelEvent> {
  const { maxAttempts, baseDelayMs, maxDelayMs, maxRetryAfterMs } = {
    ...DEFAULT_RETRY_POLICY,
    ...retry,
  };
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
      const fault = ModelFault.from(reason);
      const { problem, code, remedy, cause } = fault;
      if (
        hasBegun ||
        !fault.retriable ||
        fault.retryAfterMs > maxRetryAfterMs
      ) {
        throw fault;
      }
      if (attempts >= maxAttempts) {
        throw new ModelFault(
          attempts === 1 ? problem : `${problem} (${attempts} tries)`,
          code,
          { remedy, cause },
        );
      }
      const backoffMs = Math.round(
        random() * Math.min(maxDelayMs, baseDelayMs * 2 ** (attempts - 1)),
      );
      const waitMs = Math.max(backoffMs, fault.retryAfterMs);
      const text = `${problem}: trying again in ${(waitMs / 1000).toFixed(1)} s`;
      const retryDelay = durationFromMs(waitMs);
      yield {
        case: "notice",
        value: create(NoticeSchema, { text, attempt: attempts, retryDelay }),
      };
      await (sleep
        ? sleep(waitMs, signal)
        : delay(waitMs, undefined, { signal }));
    }
  }
}
