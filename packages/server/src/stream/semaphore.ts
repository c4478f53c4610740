import { abortable } from "./abortable.ts";

/** Lets a limited number of holders at a time do something; the others wait in the order in which they came. */
export class Semaphore {
  readonly #limit: () => number;
  #held = 0;
  readonly #waiting: PromiseWithResolvers<void>[] = [];

  /** Takes the number of holders at a time, or a function that returns it; whoever changes the number calls `advance`. */
  constructor(limit: number | (() => number)) {
    this.#limit = typeof limit === "number" ? () => limit : limit;
  }

  /** Whether somebody waits for a turn. */
  get isWanted(): boolean {
    return this.#waiting.length > 0;
  }

  /** Whether nobody holds a turn or waits for one. */
  get isIdle(): boolean {
    return this.#held === 0 && !this.isWanted;
  }

  /** Takes a turn if that needs no waiting; it ends when it is disposed of. */
  tryAcquire(): Disposable | undefined {
    if (this.isWanted || this.#held >= this.#limit()) return undefined;
    this.#held++;
    return this.#turn();
  }

  /** Waits for a turn, which ends when it is disposed of. Rejects with the signal's reason when that aborts first. */
  async acquire(signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    return this.tryAcquire() ?? this.#wait(signal);
  }

  /** Gives the turns that are free to those who wait. */
  advance(): void {
    while (this.#held < this.#limit()) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#held++;
      next.resolve();
    }
  }

  async #wait(signal: AbortSignal): Promise<Disposable> {
    const next = Promise.withResolvers<void>();
    this.#waiting.push(next);
    try {
      await abortable(next.promise, signal);
      return this.#turn();
    } catch (reason) {
      const at = this.#waiting.indexOf(next);
      if (at < 0) this.#release();
      else this.#waiting.splice(at, 1);
      throw reason;
    }
  }

  #turn(): Disposable {
    return { [Symbol.dispose]: () => this.#release() };
  }

  #release(): void {
    this.#held--;
    this.advance();
  }
}
