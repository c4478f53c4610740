/**
 * When a request that failed is sent again.
 *
 * A request is only sent again if nothing of its answer has come. The waits grow exponentially, with full jitter.
 */
export interface RetryPolicy {
  /** The maximum number of attempts, including the first one. Default: 5. */
  readonly maxAttempts: number;
  /** The upper bound of the first wait, in milliseconds. It doubles with each attempt. Default: 1000. */
  readonly baseDelayMs: number;
  /** The upper bound of every wait, in milliseconds. Default: 30,000. */
  readonly maxDelayMs: number;
  /** The longest wait that the API may ask for, in milliseconds. The turn fails if it asks for more. Default: 120,000. */
  readonly maxRetryAfterMs: number;
}

/** Timeouts of an answer, in milliseconds. */
export interface ModelTimeouts {
  /** The time until the first piece of an answer. Default: 60,000. */
  readonly firstByteMs: number;
  /** The time between two pieces. Default: 30,000. */
  readonly idleMs: number;
  /** The time for a whole answer, including attempts and waits. Default: 1,800,000 (30 minutes). */
  readonly turnMs: number;
}

/** Returns a retry policy, completed with the defaults. */
export function retryPolicyFrom(policy: Partial<RetryPolicy> = {}): RetryPolicy {
  return { maxAttempts: 5, baseDelayMs: 1000, maxDelayMs: 30_000, maxRetryAfterMs: 120_000, ...policy };
}

/** Returns timeouts, completed with the defaults. */
export function timeoutsFrom(timeouts: Partial<ModelTimeouts> = {}): ModelTimeouts {
  return { firstByteMs: 60_000, idleMs: 30_000, turnMs: 30 * 60_000, ...timeouts };
}
