/**
 * When a request that failed is sent again.
 *
 * A request is sent again only while no part of its answer has arrived. The
 * waits grow exponentially, with full jitter.
 */
export interface RetryPolicy {
  /** The maximum number of attempts, including the first one. Default: 5. */
  readonly maxAttempts: number;
  /**
   * The upper bound of the first wait, in milliseconds. It doubles with each
   * attempt. Default: 1000.
   */
  readonly baseDelayMs: number;
  /** The upper bound of every wait, in milliseconds. Default: 30,000. */
  readonly maxDelayMs: number;
  /**
   * The longest wait that the API may ask for, in milliseconds. The turn fails
   * if it asks for more. Default: 120,000.
   */
  readonly maxRetryAfterMs: number;
}

/** Timeouts of an answer, in milliseconds. */
export interface ModelTimeouts {
  /** The time until the first piece of an answer. Default: 60,000. */
  readonly firstByteMs: number;
  /** The time between two pieces. Default: 30,000. */
  readonly idleMs: number;
  /**
   * The time for a whole answer, including attempts and waits. Default:
   * 1,800,000 (30 minutes).
   */
  readonly turnMs: number;
}

/**
 * When a request to a model is sent again, and how long its answer may take.
 */
export interface RemoteOptions {
  /** The key, which appears in no error. Default: none. */
  readonly apiKey?: string;
  /** When a request is sent again. Default: the defaults of `RetryPolicy`. */
  readonly retry?: Partial<RetryPolicy>;
  /**
   * How long to wait for an answer. Default: the defaults of `ModelTimeouts`.
   */
  readonly timeouts?: Partial<ModelTimeouts>;
  /**
   * Returns a number from 0 to below 1, for the random part of the waits
   * between attempts. Default: `Math.random`.
   */
  readonly random?: () => number;
  /** Waits between attempts, in milliseconds. Default: the platform's timer. */
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** The default retry policy. */
export const DEFAULT_RETRY_POLICY: RetryPolicy = {
  maxAttempts: 5,
  baseDelayMs: 1000,
  maxDelayMs: 30_000,
  maxRetryAfterMs: 120_000,
};

/** The default timeouts. */
export const DEFAULT_TIMEOUTS: ModelTimeouts = {
  firstByteMs: 60_000,
  idleMs: 30_000,
  turnMs: 30 * 60_000,
};
