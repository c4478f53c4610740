import { setImmediate } from "node:timers/promises";

/**
 * The maximum time in milliseconds for which synchronous work may block the
 * event loop.
 */
const MAX_BLOCK_MS = 8;

/**
 * Interrupts long synchronous work, so that it does not block the event loop.
 */
export class Pace {
  readonly #signal: AbortSignal;
  #since: number = performance.now();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /**
   * Yields to the event loop if the work has blocked it for too long. Throws
   * the reason of the signal once it aborts.
   */
  async rest(): Promise<void> {
    this.#signal.throwIfAborted();
    if (performance.now() - this.#since < MAX_BLOCK_MS) return;
    await setImmediate();
    this.#signal.throwIfAborted();
    this.#since = performance.now();
  }
}
