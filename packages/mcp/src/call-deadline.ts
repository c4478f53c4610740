/** Ends a call that shows no progress for too long. Stands still while the user is asked. */
export class CallDeadline implements Disposable {
  readonly #timeMs: number;
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #pauses = 0;

  /** Begins at once; the time is in milliseconds. */
  constructor(timeMs: number) {
    this.#timeMs = timeMs;
    this.restart();
  }

  /** Aborts when the time is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Gives the call the whole time again. */
  restart(): void {
    clearTimeout(this.#timer);
    if (this.#pauses === 0) this.#timer = setTimeout(() => this.#controller.abort(), this.#timeMs);
  }

  /** Stands still until what it gives is disposed of; then the whole time begins again. */
  pause(): Disposable {
    this.#pauses++;
    clearTimeout(this.#timer);
    return {
      [Symbol.dispose]: () => {
        this.#pauses--;
        this.restart();
      },
    };
  }

  [Symbol.dispose](): void {
    this.#pauses = Number.POSITIVE_INFINITY;
    clearTimeout(this.#timer);
  }
}
