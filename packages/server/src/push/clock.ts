/** A source of time: that of the process, or that of a test. */
export interface Clock {
  /** Returns the time in milliseconds since 1970. */
  now(): number;

  /**
   * Returns the time in milliseconds since some moment. Setting the clock of
   * the machine does not change it.
   */
  monotonic(): number;

  /**
   * Resolves after a time in milliseconds. Rejects with the signal's reason
   * when the signal aborts.
   */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}
