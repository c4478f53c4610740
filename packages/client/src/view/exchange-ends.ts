/**
 * Notifies callers that wait for the end of an exchange in the log of one task.
 */
export class ExchangeEnds {
  /**
   * The sequence of the last event that ended an exchange. 0 if there was none.
   */
  #last = 0n;
  /**
   * The exchanges whose end is awaited, by the sequence after which it comes.
   */
  readonly #awaited = new Map<() => void, bigint>();

  /**
   * Resolves when an event after a sequence has ended an exchange.
   */
  after(sequence: bigint): Promise<void> {
    if (this.#last > sequence) return Promise.resolve();
    return new Promise((resolve) => {
      const end = (): void => {
        this.#awaited.delete(end);
        resolve();
      };
      this.#awaited.set(end, sequence);
    });
  }

  /**
   * Records that the event with a sequence has ended an exchange.
   */
  reach(sequence: bigint): void {
    if (sequence <= this.#last) return;
    this.#last = sequence;
    for (const [end, after] of this.#awaited) if (sequence > after) end();
  }

  /**
   * Forgets the ends so far: the log of another task follows, which counts
   * from 1. Promises of `after` stay pending.
   */
  restart(): void {
    this.#last = 0n;
  }
}
