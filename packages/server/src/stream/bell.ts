/**
 * Wakes a reader that waits, also when it was rung before the reader waited.
 * Abortion rings it as well.
 */
export class Bell {
  #ring = Promise.withResolvers<void>();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.ring(), { once: true });
  }

  /** Resolves when the bell is rung after the last reset. */
  get rung(): Promise<void> {
    return this.#ring.promise;
  }

  ring(): void {
    this.#ring.resolve();
  }

  reset(): void {
    if (!this.#signal.aborted) this.#ring = Promise.withResolvers<void>();
  }
}
