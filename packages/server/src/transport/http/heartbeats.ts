/** A period has so many ticks: at each, the streams that began at that point of a period are served, and not all at once. */
const TICKS = 60;

/** What says in each period that it lives. */
export interface Beating {
  beat(): void;
}

/** The heartbeats of all streams of a server: one timer, which runs while there are streams. */
export class Heartbeats {
  readonly #periodMs: number;
  readonly #slots: readonly Set<Beating>[] = Array.from({ length: TICKS }, () => new Set());
  #tick = 0;
  #timer: NodeJS.Timeout | undefined;

  /** The period in which each stream gets one heartbeat, in milliseconds. */
  constructor(periodMs: number) {
    this.#periodMs = periodMs;
  }

  /** Lets a stream beat once in each period from now on. */
  add(stream: Beating): void {
    this.#slots[this.#tick]?.add(stream);
    this.#timer ??= setInterval(() => this.#beat(), this.#periodMs / TICKS).unref();
  }

  /** Ends the heartbeats of a stream. */
  remove(stream: Beating): void {
    for (const slot of this.#slots) slot.delete(stream);
    if (this.#slots.some(({ size }) => size > 0)) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #beat(): void {
    this.#tick = (this.#tick + 1) % TICKS;
    for (const stream of this.#slots[this.#tick] ?? []) stream.beat();
  }
}
