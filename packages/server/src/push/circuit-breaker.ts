import { abortable } from "@devtool/internal/abortable";
import { Semaphore } from "@devtool/internal/semaphore";
import type { Clock } from "./clock.ts";
import type { PostOutcome } from "./notification.ts";
import { retryDelayMs } from "./retry-schedule.ts";

/**
 * The maximum number of concurrent posts to one host. The posts of one task are
 * sequential.
 */
const MAX_IN_FLIGHT = 4;

/**
 * The number of consecutive failures that open the circuit. Then one post at a
 * time probes the host.
 */
const MAX_FAILURES = 5;

interface CircuitBreakerOptions {
  readonly clock: Clock;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
  /** Aborts when nothing is posted any more. */
  readonly stopped: AbortSignal;
}

/** The permission to make one post. */
export interface Permit {
  /**
   * Returns the permit with the outcome of the post; undefined when the post
   * was aborted or not made.
   */
  release(outcome: PostOutcome | undefined): void;
}

/**
 * The circuit breaker of one webhook host. Limits concurrent posts, and while
 * the host fails, permits a single probe at a time, with increasing delays.
 */
export class CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  readonly #semaphore = new Semaphore(() => {
    if (!this.isOpen) return MAX_IN_FLIGHT;
    // An open circuit permits one probe, when its time has come.
    return this.#options.clock.monotonic() >= this.#openUntil ? 1 : 0;
  });
  #failures = 0;
  /** The monotonic time before which no probe is permitted. */
  #openUntil = 0;
  #lastFailure = "it was not reached";
  /** Whether a timer for the next probe runs. */
  #isTimed = false;
  #recovered = Promise.withResolvers<void>();

  constructor(options: CircuitBreakerOptions) {
    this.#options = options;
  }

  /** Whether the circuit is open: only probes are permitted. */
  get isOpen(): boolean {
    return this.#failures >= MAX_FAILURES;
  }

  /** The reason of the last failed post. */
  get lastFailure(): string {
    return this.#lastFailure;
  }

  /** Whether the breaker has no state that a new one would not have. */
  get isAtRest(): boolean {
    return this.#failures === 0 && this.#semaphore.isIdle;
  }

  /** Returns a permit if one is available now. */
  tryAcquire(): Permit | undefined {
    const turn = this.#semaphore.tryAcquire();
    return turn && this.#permit(turn);
  }

  /**
   * Waits for a permit. Rejects with the signal's reason when the signal aborts
   * first.
   */
  async acquire(signal: AbortSignal): Promise<Permit> {
    const turn = this.#semaphore.acquire(signal);
    this.#timeNextProbe();
    return this.#permit(await turn);
  }

  /** Waits for a time in milliseconds, or until the host has recovered. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    try {
      const slept = this.#options.clock.sleep(
        ms,
        AbortSignal.any([signal, over.signal]),
      );
      await abortable(Promise.race([slept, this.#recovered.promise]), signal);
    } finally {
      over.abort();
    }
  }

  #permit(turn: Disposable): Permit {
    return {
      release: (outcome) => {
        if (outcome?.case === "failed") {
          const { clock, random } = this.#options;
          this.#lastFailure = outcome.reason;
          this.#failures++;
          if (this.isOpen) {
            this.#openUntil =
              clock.monotonic() + retryDelayMs(this.#failures, random());
          }
        } else if (outcome) {
          const wasOpen = this.isOpen;
          this.#failures = 0;
          if (wasOpen) {
            this.#recovered.resolve();
            this.#recovered = Promise.withResolvers();
          }
        }
        turn[Symbol.dispose]();
        this.#timeNextProbe();
      },
    };
  }

  /** Schedules the next probe, while the circuit is open and a post waits. */
  #timeNextProbe(): void {
    const { clock, stopped } = this.#options;
    const waitMs = this.#openUntil - clock.monotonic();
    if (
      this.#isTimed ||
      !this.isOpen ||
      !this.#semaphore.isWanted ||
      waitMs <= 0
    ) {
      return;
    }
    this.#isTimed = true;
    clock.sleep(waitMs, stopped).then(
      () => {
        this.#isTimed = false;
        this.#semaphore.advance();
        // Posts that were in flight may have failed too and moved the time of
        // the next probe.
        this.#timeNextProbe();
      },
      () => undefined,
    );
  }
}
