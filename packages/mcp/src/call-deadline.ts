/**
 * The timeout of a call that shows no progress. It is paused while the user is
 * asked.
 */
export class CallDeadline implements Disposable {
  readonly #timeMs: number;
  readonly #controller = new AbortController();
  /** Aborts when the timeout has passed. */
  readonly signal: AbortSignal = this.#controller.signal;
  #timer: NodeJS.Timeout | undefined;
  #pauses = 0;

  /** Starts at once. `timeMs` is the timeout in milliseconds. */
  constructor(timeMs: number) {
    this.#timeMs = timeMs;
    this.restart();
  }

  /**
   * Starts the timeout again from the beginning. Does nothing while it is
   * paused.
   */
  restart(): void {
    clearTimeout(this.#timer);
    if (this.#pauses === 0) {
      this.#timer = setTimeout(() => this.#controller.abort(), this.#timeMs);
    }
  }

  /**
   * Pauses the timeout until the returned value is disposed of; then it starts
   * again from the beginning. Pauses may nest.
   */
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
