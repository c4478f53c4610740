import { abortable } from "../stream/abortable.ts";

/** A number of places, given to those who wait in the order in which they came. */
export class Slots {
  readonly #limit: () => number;
  #taken = 0;
  #waiting: PromiseWithResolvers<void>[] = [];

  /** Takes how many places there are now; whoever changes the number calls `advance`. */
  constructor(limit: () => number) {
    this.#limit = limit;
  }

  /** Tells whether somebody waits. */
  get isWanted(): boolean {
    return this.#waiting.length > 0;
  }

  /** Tells whether nobody has a place. */
  get isFree(): boolean {
    return this.#taken === 0;
  }

  /** Takes a place if there is one and nobody waits for it. */
  tryEnter(): boolean {
    if (this.isWanted || this.#taken >= this.#limit()) return false;
    this.#taken++;
    return true;
  }

  /** Waits for a place. Rejects with the signal's reason when it aborts; there is nothing to give back then. */
  async enter(signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>();
    this.#waiting.push(turn);
    this.advance();
    try {
      await abortable(turn.promise, signal);
    } catch (reason) {
      const place = this.#waiting.indexOf(turn);
      if (place < 0) this.leave();
      else this.#waiting.splice(place, 1);
      throw reason;
    }
  }

  /** Gives a place back. */
  leave(): void {
    this.#taken--;
    this.advance();
  }

  /** Gives the places there are to those who wait. */
  advance(): void {
    while (this.#taken < this.#limit()) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#taken++;
      next.resolve();
    }
  }
}
