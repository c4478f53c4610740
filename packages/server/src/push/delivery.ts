import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type PushConfig,
  type PushProgress,
  PushProgressSchema,
  type PushSubscription,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { failpoint } from "../failpoint.ts";
import { keyOf, type PushConfigStore } from "../store/push-config-store.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { Semaphore } from "../stream/semaphore.ts";
import type { CircuitBreaker, Permit } from "./circuit-breaker.ts";
import type { Clock } from "./clock.ts";
import type { Poster, PostOutcome } from "./notification.ts";
import type { PushEncoding } from "./push-format.ts";
import { GIVE_UP_MS, retryDelayMs } from "./retry-schedule.ts";

/** Dependencies that all deliveries share. */
export interface DeliveryServices {
  readonly store: TaskStore;
  readonly configs: PushConfigStore;
  readonly poster: Poster;
  readonly clock: Clock;
  readonly random: () => number;
  /** Limits the posts to all hosts together. */
  readonly semaphore: Semaphore;
  /** Called when a config is given up, with a text that says which and why. */
  readonly onEnded: (subscription: PushSubscription, text: string) => void;
  readonly onError: (reason: unknown) => void;
}

/** The destination of a delivery. */
export interface DeliveryTarget {
  /** The breaker of the config's host. */
  readonly breaker: CircuitBreaker;
  readonly encoding: PushEncoding;
}

/** Delivers a task's events to one webhook, in order, retrying each until it is accepted. */
export class Delivery {
  readonly #services: DeliveryServices;
  readonly #target: DeliveryTarget;
  readonly #subscription: PushSubscription;
  readonly #stopping = new AbortController();
  /** Breaks off a post that was begun, which a stop alone lets finish. */
  readonly #cutting = new AbortController();
  #progress: PushProgress;
  /** The last event that is done with. It may be ahead of the stored cursor: events that show nothing cost no write each. */
  #done: bigint;
  /** The time since which the next event has been waiting for its turn, also behind others that fail. */
  #waitsSince: PushProgress["failingSince"];
  #isWoken = false;
  #running: Promise<void> | undefined;
  #state = TaskState.UNSPECIFIED;
  readonly #onIdle: () => void;

  /** `onIdle` is called each time when nothing is left to do. */
  constructor(
    services: DeliveryServices,
    subscription: PushSubscription,
    { onIdle, ...target }: DeliveryTarget & { readonly onIdle: () => void },
  ) {
    this.#services = services;
    this.#subscription = subscription;
    this.#target = target;
    this.#progress = subscription.progress ?? create(PushProgressSchema);
    this.#done = this.#progress.cursor;
    this.#onIdle = onIdle;
  }

  /** Whether delivery is idle: everything is posted and the task is not running. */
  get isIdle(): boolean {
    return !this.#running && (this.isEnded || !AT_WORK.has(this.#state));
  }

  /** Whether the config was given up. */
  get isEnded(): boolean {
    return this.#progress.endedReason !== "";
  }

  /** Starts delivery of new events, unless it runs or has ended. */
  wake(): void {
    this.#isWoken = true;
    if (this.#running || this.isEnded || this.#stopping.signal.aborted) return;
    this.#running = this.#run(this.#stopping.signal).finally(() => {
      this.#running = undefined;
      // What was told between the last look and now.
      if (this.#isWoken) this.wake();
      if (!this.#running) this.#onIdle();
    });
  }

  /** Stops delivery; a post that was begun has `graceMs` milliseconds to finish. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort(STOPPED);
    const stopped = new AbortController();
    const grace = this.#services.clock.sleep(graceMs, stopped.signal).then(
      () => this.#cutting.abort(STOPPED),
      () => undefined,
    );
    await this.#running;
    stopped.abort();
    await grace;
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (this.#isWoken && !this.isEnded && !signal.aborted) {
      this.#isWoken = false;
      try {
        await this.#pause(signal);
        await this.#drain(signal);
      } catch (reason) {
        if (signal.aborted) return;
        // The store failed: what was delivered is known here, and noted as soon as it can be.
        this.#services.onError(reason);
        this.#isWoken = true;
        await this.#services.clock.sleep(retryDelayMs(1, this.#services.random()), signal).catch(() => undefined);
      }
    }
  }

  /** Posts what there is, until one cannot be delivered. */
  async #drain(signal: AbortSignal): Promise<void> {
    const { taskId } = keyOf(this.#subscription);
    for await (const event of this.#services.store.readEvents(taskId, this.#done)) {
      signal.throwIfAborted();
      if (!(await this.#pass(event, signal))) return;
    }
    if (this.#done > this.#progress.cursor) await this.#save({ cursor: this.#done });
  }

  /** Deals with one event; returns whether the next may follow. */
  async #pass(event: TaskEvent, signal: AbortSignal): Promise<boolean> {
    const body = this.#target.encoding.encode(event);
    this.#waitsSince = undefined;
    this.#state = event.state;
    if (body === undefined) {
      this.#done = event.sequence;
      return true;
    }
    const outcome = await this.#post(event, body, signal);
    if (outcome.case === "delivered") {
      this.#done = event.sequence;
      await this.#save({ cursor: event.sequence });
      return true;
    }
    // The config may be another one by now.
    if (signal.aborted) return false;
    if (outcome.case === "gone") await this.#end(outcome.reason);
    else await this.#fail(outcome.reason);
    return false;
  }

  /** Posts an event when it is its turn; a failure when it waited too long for that. */
  async #post(event: TaskEvent, body: string, signal: AbortSignal): Promise<PostOutcome> {
    const { breaker, encoding } = this.#target;
    const permit = this.#tryEnter() ?? (await this.#enter(signal));
    if (!permit) return { case: "failed", reason: breaker.lastFailure };
    let outcome: PostOutcome | undefined;
    try {
      const { taskId, sequence } = event;
      const config = configOf(this.#subscription);
      failpoint("devtool:push.post.before");
      outcome = await this.#services.poster.post(
        { config, taskId, sequence, contentType: encoding.contentType, body },
        this.#cutting.signal,
      );
      failpoint("devtool:push.post.after");
      return outcome;
    } finally {
      permit.release(outcome);
    }
  }

  /** Permits a post, to the host and among all, if that needs no waiting. */
  #tryEnter(): Permit | undefined {
    const permit = this.#target.breaker.tryAcquire();
    const turn = permit && this.#services.semaphore.tryAcquire();
    if (turn) return permitIn(turn, permit);
    permit?.release(undefined);
    return undefined;
  }

  /** Waits until a post is permitted, to the host and among all; undefined when that takes longer than it may. */
  async #enter(signal: AbortSignal): Promise<Permit | undefined> {
    const { breaker } = this.#target;
    this.#waitsSince = this.#progress.failingSince ?? this.#now();
    if (breaker.isOpen && !this.#progress.failingSince) await this.#save({ failingSince: this.#waitsSince });
    const over = new AbortController();
    const waiting = AbortSignal.any([signal, over.signal]);
    const deadline = this.#services.clock.sleep(this.#leftMs(), waiting).then(
      () => over.abort(),
      () => undefined,
    );
    try {
      const permit = await breaker.acquire(waiting);
      const turn = await this.#services.semaphore.acquire(waiting).catch((reason: unknown) => {
        permit.release(undefined);
        throw reason;
      });
      return permitIn(turn, permit);
    } catch {
      signal.throwIfAborted();
      return undefined;
    } finally {
      over.abort();
      await deadline;
    }
  }

  async #fail(reason: string): Promise<void> {
    const { clock, random } = this.#services;
    const failures = this.#progress.failures + 1;
    const failingSince = this.#progress.failingSince ?? this.#waitsSince ?? this.#now();
    if (clock.now() - timestampMs(failingSince) >= GIVE_UP_MS) return this.#end(`${reason}, for a day`);
    const delayMs = Math.min(retryDelayMs(failures, random()), GIVE_UP_MS - (clock.now() - timestampMs(failingSince)));
    this.#isWoken = true;
    await this.#save({ failures, failingSince, nextAttemptTime: timestampFromMs(clock.now() + delayMs) });
  }

  async #end(reason: string): Promise<void> {
    await this.#save({ endedReason: reason });
    const { taskId: _task, configId } = keyOf(this.#subscription);
    const host = URL.parse(configOf(this.#subscription).url)?.host ?? "";
    const subject = `notifications ${JSON.stringify(configId)} to ${JSON.stringify(host)}`;
    this.#services.onEnded(this.#subscription, `${subject} have ended: ${reason}: set them again to go on`);
  }

  /** Waits until the next try is due, or the host is back. */
  async #pause(signal: AbortSignal): Promise<void> {
    const { nextAttemptTime } = this.#progress;
    const waitMs = nextAttemptTime ? timestampMs(nextAttemptTime) - this.#services.clock.now() : 0;
    if (waitMs > 0) await this.#target.breaker.pause(waitMs, signal);
  }

  /** Notes progress: what is not named starts over. */
  async #save(change: MessageInitShape<typeof PushProgressSchema>): Promise<void> {
    const progress = create(PushProgressSchema, { cursor: this.#done, ...change });
    await this.#services.configs.saveProgress(keyOf(this.#subscription), progress);
    this.#progress = progress;
  }

  #now(): NonNullable<PushProgress["failingSince"]> {
    return timestampFromMs(this.#services.clock.now());
  }

  #leftMs(): number {
    const { failingSince } = this.#progress;
    const since = failingSince ? timestampMs(failingSince) : this.#services.clock.now();
    return Math.max(GIVE_UP_MS - (this.#services.clock.now() - since), 0);
  }
}

const STOPPED = new DOMException("notifications stop", "AbortError");

const AT_WORK: ReadonlySet<TaskState> = new Set([TaskState.SUBMITTED, TaskState.WORKING]);

/** A permit to post to a host within a turn among all posts; both end together. */
function permitIn(turn: Disposable, permit: Permit): Permit {
  return {
    release: (outcome) => {
      turn[Symbol.dispose]();
      permit.release(outcome);
    },
  };
}

function configOf({ config }: PushSubscription): PushConfig {
  if (!config) throw new Error("a subscription has a config");
  return config;
}
