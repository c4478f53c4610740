import type { Clock } from "@devtool/server/testing";

interface Timer {
  readonly at: number;
  readonly wake: () => void;
}

/**
 * A clock whose hours pass when a test says so: nothing in between is left out,
 * and nobody sleeps.
 */
export class VirtualClock implements Clock {
  #now = 1_800_000_000_000;
  #setByMs = 0;
  readonly #timers = new Set<Timer>();
  #calls = 0;

  now(): number {
    return this.#now + this.#setByMs;
  }

  monotonic(): number {
    return this.#now;
  }

  /** Sets the clock ahead, or back, as its operator or the network would. */
  set(byMs: number): void {
    this.#setByMs += byMs;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    this.#calls++;
    if (signal.aborted) return Promise.reject(signal.reason);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = (): void => {
      this.#timers.delete(timer);
      reject(signal.reason);
    };
    const wake = (): void => {
      signal.removeEventListener("abort", abort);
      resolve();
    };
    const timer: Timer = { at: this.#now + ms, wake };
    this.#timers.add(timer);
    signal.addEventListener("abort", abort, { once: true });
    return promise;
  }

  /**
   * Advances the clock by some milliseconds, timer by timer, and runs what each
   * timer causes.
   */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.#settle();
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#now = Math.max(this.#now, next.at);
      for (const timer of [...this.#timers]) {
        if (timer.at > this.#now) continue;
        this.#timers.delete(timer);
        timer.wake();
      }
      await this.#settle();
    }
    this.#now = end;
  }

  #next(end: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at <= end && timer.at < (first?.at ?? Infinity)) first = timer;
    }
    return first;
  }

  /**
   * Waits until nobody asks the clock for anything any more; commits take a
   * turn of the event loop each.
   */
  async #settle(): Promise<void> {
    for (let quiet = 0, seen = -1; quiet < QUIET_TURNS; quiet++) {
      if (seen !== this.#calls) quiet = 0;
      seen = this.#calls;
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
  }
}

const QUIET_TURNS = 4;
