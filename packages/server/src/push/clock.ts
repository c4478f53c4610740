/** Tells the time and waits: the process's own, or a test's. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after so many milliseconds; rejects with the signal's reason when it aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}
