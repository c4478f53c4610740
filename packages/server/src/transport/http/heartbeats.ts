/**
 * Number of groups that the streams are divided into, so that the heartbeats of
 * a period are not all sent at once.
 */
const TICKS = 60;

/** A stream that needs a heartbeat in each period. */
export interface Beating {
  beat(): void;
}

/**
 * Sends the heartbeats of all streams of a server from a single timer, which
 * runs only while there are streams.
 */
export class Heartbeats {
  readonly #periodMs: number;
  /** The streams by the tick of the period at which they were added. */
  readonly #slots: readonly Set<Beating>[] = Array.from(
    { length: TICKS },
    () => new Set(),
  );
  #tick = 0;
  #timer: NodeJS.Timeout | undefined;

  /**
   * `periodMs` is the time between two heartbeats of a stream, in milliseconds.
   */
  constructor(periodMs: number) {
    this.#periodMs = periodMs;
  }

  /**
   * Sends one heartbeat per period to a stream, the first after a whole period.
   *
   * Returns the tick of its heartbeats, for `remove`.
   */
  add(stream: Beating): number {
    this.#slots[this.#tick]?.add(stream);
    this.#timer ??= setInterval(() => {
      this.#tick = (this.#tick + 1) % TICKS;
      for (const each of this.#slots[this.#tick] ?? []) each.beat();
    }, this.#periodMs / TICKS).unref();
    return this.#tick;
  }

  /** Ends the heartbeats of a stream, which are sent at a tick. */
  remove(stream: Beating, tick: number): void {
    this.#slots[tick]?.delete(stream);
    if (this.#slots.some(({ size }) => size > 0)) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
