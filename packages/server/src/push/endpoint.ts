import { abortable } from "../stream/abortable.ts";
import type { Clock } from "./clock.ts";
import type { PostOutcome } from "./notification.ts";
import { retryDelayMs } from "./retry-schedule.ts";
import { Slots } from "./slots.ts";

/** So many posts to one endpoint may be on their way; those of one task go one by one. */
const MAX_IN_FLIGHT = 4;

/** After so many failures in a row the circuit opens: then one post at a time tries whether the endpoint is back. */
const MAX_FAILURES = 5;

/** What an endpoint needs. */
export interface EndpointOptions {
  readonly clock: Clock;
  /** Gives a number from 0 to 1. */
  readonly random: () => number;
  /** Aborts when nothing is posted any more. */
  readonly stopped: AbortSignal;
}

/** A host that events are posted to: its circuit keeps the tasks that wait for it from knocking all at once. */
export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #slots = new Slots(() => this.#limit());
  #failures = 0;
  #openUntil = 0;
  #lastFailure = "it was not reached";
  #isTimed = false;
  #recovered = Promise.withResolvers<void>();

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  /** Tells whether the circuit is open: nobody gets through but those who try. */
  get isOpen(): boolean {
    return this.#failures >= MAX_FAILURES;
  }

  /** Says why the last post that failed did. */
  get lastFailure(): string {
    return this.#lastFailure;
  }

  /** Tells whether there is nothing to remember of it. */
  get isAtRest(): boolean {
    return this.#failures === 0 && this.#slots.isFree && !this.#slots.isWanted;
  }

  /** Lets a post out if that needs no waiting. To be followed by `leave` then. */
  tryEnter(): boolean {
    return this.#slots.tryEnter();
  }

  /** Waits until a post may go out. To be followed by `leave`. */
  async enter(signal: AbortSignal): Promise<void> {
    const entered = this.#slots.enter(signal);
    this.#timeNextTry();
    await entered;
  }

  /** Notes what became of a post; undefined when it came to no end. */
  leave(outcome: PostOutcome | undefined): void {
    if (outcome?.case === "failed") this.#fail(outcome.reason);
    else if (outcome) this.#recover();
    this.#slots.leave();
    this.#timeNextTry();
  }

  /** Waits so many milliseconds, or until the endpoint is known to be back. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    const over = new AbortController();
    try {
      const slept = this.#options.clock.sleep(ms, AbortSignal.any([signal, over.signal]));
      await abortable(Promise.race([slept, this.#recovered.promise]), signal);
    } finally {
      over.abort();
    }
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
    if (this.#isTimed || !this.isOpen || !this.#slots.isWanted || waitMs <= 0) return;
    this.#isTimed = true;
    const tryNext = (): void => {
      this.#isTimed = false;
      this.#slots.advance();
      // The time may have moved on: posts that were on their way failed too.
      this.#timeNextTry();
    };
    clock.sleep(waitMs, stopped).then(tryNext, () => undefined);
  }
}
