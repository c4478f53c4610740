import { abortable } from "../stream/abortable.ts";
import { Semaphore } from "../stream/semaphore.ts";
import type { Clock } from "./clock.ts";
import type { PostOutcome } from "./notification.ts";
import { retryDelayMs } from "./retry-schedule.ts";

/** Maximum number of posts to one host at a time; those of one task go one by one. */
const MAX_IN_FLIGHT = 4;

/** Number of failures in a row that open the circuit: then one post at a time tries whether the host is back. */
const MAX_FAILURES = 5;

/** Dependencies of `CircuitBreaker`. */
export interface CircuitBreakerOptions {
  readonly clock: Clock;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
  /** Aborts when nothing is posted any more. */
  readonly stopped: AbortSignal;
}

/** The right to make one post. */
export interface Permit {
  /** Ends the post with its outcome; undefined when there is none, since it was broken off or never made. */
  release(outcome: PostOutcome | undefined): void;
}

/** Circuit breaker for one webhook host: limits concurrent posts; while the host fails, lets a single probe through. */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  readonly #semaphore = new Semaphore(() => this.#limit());
  #failures = 0;
  #openUntil = 0;
  #lastFailure = "it was not reached";
  #isTimed = false;
  #recovered = Promise.withResolvers<void>();

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  /** Whether the circuit is open: only probes are let through. */
  get isOpen(): boolean {
    return this.#failures >= MAX_FAILURES;
  }

  /** The reason why the last post that failed did. */
  get lastFailure(): string {
    return this.#lastFailure;
  }

  /** Whether the breaker is as a new one, so that it can be forgotten. */
  get isAtRest(): boolean {
    return this.#failures === 0 && this.#semaphore.isIdle;
  }

  /** Permits a post if that needs no waiting. */
  tryAcquire(): Permit | undefined {
    const turn = this.#semaphore.tryAcquire();
    return turn && this.#permit(turn);
  }

  /** Waits until a post is permitted. Rejects with the signal's reason when that aborts first. */
  async acquire(signal: AbortSignal): Promise<Permit> {
    const turn = this.#semaphore.acquire(signal);
    this.#timeNextTry();
    return this.#permit(await turn);
  }

  /** Waits for a number of milliseconds, or until the host is known to be back. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    try {
      const slept = this.#options.clock.sleep(ms, AbortSignal.any([signal, over.signal]));
      await abortable(Promise.race([slept, this.#recovered.promise]), signal);
    } finally {
      over.abort();
    }
  }

  #permit(turn: Disposable): Permit {
    return {
      release: (outcome) => {
        if (outcome?.case === "failed") this.#fail(outcome.reason);
        else if (outcome) this.#recover();
        turn[Symbol.dispose]();
        this.#timeNextTry();
      },
    };
  }

  #limit(): number {
    if (!this.isOpen) return MAX_IN_FLIGHT;
    return this.#options.clock.now() >= this.#openUntil ? 1 : 0;
  }

  #recover(): void {
    const wasOpen = this.isOpen;
    this.#failures = 0;
    if (!wasOpen) return;
    this.#recovered.resolve();
    this.#recovered = Promise.withResolvers();
  }

  #fail(reason: string): void {
    const { clock, random } = this.#options;
    this.#lastFailure = reason;
    this.#failures++;
    if (this.isOpen) this.#openUntil = clock.now() + retryDelayMs(this.#failures, random());
  }

  /** While the circuit is open and somebody waits, one is let through when it is time. */
  #timeNextTry(): void {
    const { clock, stopped } = this.#options;
    const waitMs = this.#openUntil - clock.now();
    if (this.#isTimed || !this.isOpen || !this.#semaphore.isWanted || waitMs <= 0) return;
    this.#isTimed = true;
    const tryNext = (): void => {
      this.#isTimed = false;
      this.#semaphore.advance();
      // The time may have moved on: posts that were on their way failed too.
      this.#timeNextTry();
    };
    clock.sleep(waitMs, stopped).then(tryNext, () => undefined);
  }
}
