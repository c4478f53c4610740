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
import { keyOf, type PushConfigStore } from "../store/push-config-store.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { Clock } from "./clock.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Poster, PostOutcome } from "./notification.ts";
import type { PushEncoding } from "./push-format.ts";
import { GIVE_UP_MS, retryDelayMs } from "./retry-schedule.ts";
import type { Slots } from "./slots.ts";

/** What all lines share. */
export interface LineParts {
  readonly store: TaskStore;
  readonly configs: PushConfigStore;
  readonly poster: Poster;
  readonly clock: Clock;
  readonly random: () => number;
  /** The posts that may be on their way, to all endpoints. */
  readonly slots: Slots;
  /** Tells that a config was given up, with words that say which and why. */
  readonly onEnded: (subscription: PushSubscription, text: string) => void;
  readonly onError: (reason: unknown) => void;
}

/** Where a line leads. */
export interface LineTarget {
  readonly endpoint: Endpoint;
  readonly encoding: PushEncoding;
}

/** The events of one task on their way to one config: one after the other, each until it was taken. */
export class PushLine {
  readonly #parts: LineParts;
  readonly #target: LineTarget;
  readonly #subscription: PushSubscription;
  readonly #stopping = new AbortController();
  /** Ends a post on its way, which a stop alone lets come to its end. */
  readonly #cutting = new AbortController();
  #progress: PushProgress;
  /** What is done with, and maybe not noted yet: events that show nothing cost no write each. */
  #done: bigint;
  /** Since when the next event waits for its turn, also behind others that fail. */
  #waitsSince: PushProgress["failingSince"];
  #isWoken = false;
  #running: Promise<void> | undefined;
  #state = TaskState.UNSPECIFIED;
  readonly #onIdle: () => void;

  constructor(parts: LineParts, subscription: PushSubscription, target: LineTarget & { readonly onIdle: () => void }) {
    this.#parts = parts;
    this.#subscription = subscription;
    this.#target = target;
    this.#progress = subscription.progress ?? create(PushProgressSchema);
    this.#done = this.#progress.cursor;
    this.#onIdle = target.onIdle;
  }

  /** Tells whether nothing is left to do until the task gets another event, which is not to be soon. */
  get isIdle(): boolean {
    return !this.#running && (this.isEnded || !AT_WORK.has(this.#state));
  }

  /** Tells whether nothing is posted any more. */
  get isEnded(): boolean {
    return this.#progress.endedReason !== "";
  }

  /** Tells it that there are events. */
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

  /** Ends it; a post on its way has so many milliseconds to come to its end. */
  async stop(graceMs: number): Promise<void> {
    this.#stopping.abort(STOPPED);
    const stopped = new AbortController();
    const grace = this.#parts.clock.sleep(graceMs, stopped.signal).then(
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
        this.#parts.onError(reason);
        this.#isWoken = true;
        await this.#parts.clock.sleep(retryDelayMs(1, this.#parts.random()), signal).catch(() => undefined);
      }
    }
  }

  /** Posts what there is, until one cannot be delivered. */
  async #drain(signal: AbortSignal): Promise<void> {
    const { taskId } = keyOf(this.#subscription);
    for await (const event of this.#parts.store.readEvents(taskId, this.#done)) {
      signal.throwIfAborted();
      if (!(await this.#pass(event, signal))) return;
    }
    if (this.#done > this.#progress.cursor) await this.#save({ cursor: this.#done });
  }

  /** Deals with one event; tells whether the next may follow. */
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

  /** Posts an event when it is its turn, or says that it waited too long for one. */
  async #post(event: TaskEvent, body: string, signal: AbortSignal): Promise<PostOutcome> {
    const { endpoint, encoding } = this.#target;
    if (!(await this.#enter(signal))) return { case: "failed", reason: endpoint.lastFailure };
    let outcome: PostOutcome | undefined;
    try {
      const { taskId, sequence } = event;
      const config = configOf(this.#subscription);
      outcome = await this.#parts.poster.post(
        { config, taskId, sequence, contentType: encoding.contentType, body },
        this.#cutting.signal,
      );
      return outcome;
    } finally {
      this.#parts.slots.leave();
      endpoint.leave(outcome);
    }
  }

  /** Waits for a turn at the endpoint and among all; false when that takes longer than it may. */
  async #enter(signal: AbortSignal): Promise<boolean> {
    const { endpoint } = this.#target;
    if (endpoint.tryEnter()) {
      if (this.#parts.slots.tryEnter()) return true;
      endpoint.leave(undefined);
    }
    return this.#await(endpoint, signal);
  }

  async #await(endpoint: Endpoint, signal: AbortSignal): Promise<boolean> {
    this.#waitsSince = this.#progress.failingSince ?? this.#now();
    if (endpoint.isOpen && !this.#progress.failingSince) await this.#save({ failingSince: this.#waitsSince });
    const over = new AbortController();
    const turn = AbortSignal.any([signal, over.signal]);
    const deadline = this.#parts.clock.sleep(this.#leftMs(), turn).then(
      () => over.abort(),
      () => undefined,
    );
    try {
      await endpoint.enter(turn);
      await this.#parts.slots.enter(turn).catch((reason: unknown) => {
        endpoint.leave(undefined);
        throw reason;
      });
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    } finally {
      over.abort();
      await deadline;
    }
  }

  async #fail(reason: string): Promise<void> {
    const { clock, random } = this.#parts;
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
    this.#parts.onEnded(this.#subscription, `${subject} have ended: ${reason}: set them again to go on`);
  }

  /** Waits until the next try is due, or the endpoint is back. */
  async #pause(signal: AbortSignal): Promise<void> {
    const { nextAttemptTime } = this.#progress;
    const waitMs = nextAttemptTime ? timestampMs(nextAttemptTime) - this.#parts.clock.now() : 0;
    if (waitMs > 0) await this.#target.endpoint.pause(waitMs, signal);
  }

  /** Notes progress: what is not named starts over. */
  async #save(change: MessageInitShape<typeof PushProgressSchema>): Promise<void> {
    const progress = create(PushProgressSchema, { cursor: this.#done, ...change });
    await this.#parts.configs.saveProgress(keyOf(this.#subscription), progress);
    this.#progress = progress;
  }

  #now(): NonNullable<PushProgress["failingSince"]> {
    return timestampFromMs(this.#parts.clock.now());
  }

  #leftMs(): number {
    const { failingSince } = this.#progress;
    const since = failingSince ? timestampMs(failingSince) : this.#parts.clock.now();
    return Math.max(GIVE_UP_MS - (this.#parts.clock.now() - since), 0);
  }
}

const STOPPED = new DOMException("notifications stop", "AbortError");

const AT_WORK: ReadonlySet<TaskState> = new Set([TaskState.SUBMITTED, TaskState.WORKING]);

function configOf({ config }: PushSubscription): PushConfig {
  if (!config) throw new Error("a subscription has a config");
  return config;
}
