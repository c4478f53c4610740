/** The maximum number of messages that a server may send within a second. */
const MAX_MESSAGES = 5000;
/**
 * The maximum number of bytes that a server may send within a second: 128 MiB.
 */
const MAX_BYTES: number = 128 * 1024 * 1024;
const WINDOW_MS = 1000;

/**
 * Detects a server that floods the agent: one that sends more within a second
 * than any use explains.
 */
export class FloodGate {
  readonly #now: () => number;
  #windowStart = Number.NEGATIVE_INFINITY;
  #messages = 0;
  #bytes = 0;

  /** `now` is the clock, in milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Counts what the server sent. Throws when it is more than a maximum within
   * the current second.
   */
  count(messages: number, bytes: number): void {
    const now = this.#now();
    if (now - this.#windowStart >= WINDOW_MS) {
      this.#windowStart = now;
      this.#messages = 0;
      this.#bytes = 0;
    }
    this.#messages += messages;
    this.#bytes += bytes;
    if (this.#messages > MAX_MESSAGES) {
      throw new Error(
        `it sent more than ${MAX_MESSAGES} messages within a second`,
      );
    }
    if (this.#bytes > MAX_BYTES) {
      throw new Error(`it sent more than ${MAX_BYTES} bytes within a second`);
    }
  }
}
