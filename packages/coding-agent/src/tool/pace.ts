import { setImmediate } from "node:timers/promises";

/** So long a piece of work may hold the event loop. */
const MAX_HOLD_MS = 8;

/** Lets others have their turn in the middle of long synchronous work. */
export class Pace {
  readonly #signal: AbortSignal;
  #since: number = performance.now();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Goes on at once, or after the others when the work has held the event loop for long. Throws when the signal has aborted. */
  async rest(): Promise<void> {
    this.#signal.throwIfAborted();
    if (performance.now() - this.#since < MAX_HOLD_MS) return;
    await setImmediate();
    this.#signal.throwIfAborted();
    this.#since = performance.now();
  }
}
