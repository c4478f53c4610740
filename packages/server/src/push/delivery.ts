import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type Timestamp,
  timestampFromMs,
  timestampMs,
} from "@bufbuild/protobuf/wkt";
import { failpoint } from "@devtool/internal/failpoint";
import type { Semaphore } from "@devtool/internal/semaphore";
import {
  type PushConfig,
  type PushProgress,
  PushProgressSchema,
  type PushSubscription,
  type Task,
  type TaskEvent,
  TaskState,
  type TraceContext,
} from "@devtool/schema";
import type { OperationEnd } from "../observer.ts";
import {
  CANCELED_OPERATION,
  type OpenOperation,
  type Operations,
  SUCCEEDED,
} from "../operations.ts";
import {
  type PushConfigKey,
  type PushConfigStore,
  pushConfigKey,
} from "../store/push-config-store.ts";
import type { Backlog } from "../store/task-inbox.ts";
import type { TaskStore } from "../store/task-store.ts";
import { beginHead } from "../task/read-task.ts";
import { readContent } from "../task/task-content.ts";
import type { CircuitBreaker, Permit } from "./circuit-breaker.ts";
import type { Clock } from "./clock.ts";
import { MessageTraces } from "./message-traces.ts";
import type { Poster, PostOutcome } from "./notification.ts";
import { acquirePermit, tryAcquirePermit } from "./permit.ts";
import type { PushEncoding } from "./push-format.ts";
import { GIVE_UP_MS, retryDelayMs } from "./retry-schedule.ts";

/** Dependencies that all deliveries share. */
export interface DeliveryServices {
  readonly store: TaskStore;
  readonly configs: PushConfigStore;
  readonly poster: Poster;
  readonly clock: Clock;
  readonly random: () => number;
  /** Limits the concurrent posts to all hosts together. */
  readonly semaphore: Semaphore;
  /**
   * Called when a config has ended, with a text for the task's clients that
   * says which and why.
   */
  readonly onEnded: (subscription: PushSubscription, text: string) => void;
  readonly onError: (reason: unknown) => void;
  /** What the server's observer hears. Default: there is none. */
  readonly operations?: Operations | undefined;
}

/** The destination of a delivery. */
export interface DeliveryTarget {
  /** The circuit breaker of the config's host. */
  readonly breaker: CircuitBreaker;
  readonly encoding: PushEncoding;
  /**
   * The fence of the lease under which this server has the task; 0 where no
   * other server uses the store.
   */
  readonly fence: bigint;
  /** Called each time when nothing is left to deliver. */
  readonly onIdle: () => void;
}

/**
 * Delivers the events of one task to one webhook, in order. Retries each event
 * until the webhook accepts it, and gives up after a day of failures.
 */
export class Delivery {
  readonly #services: DeliveryServices;
  readonly #target: DeliveryTarget;
  readonly #subscription: PushSubscription;
  readonly #config: PushConfig;
  readonly #key: PushConfigKey;
  readonly #stopping = new AbortController();
  /** Aborts a post in progress. `#stopping` lets it finish. */
  readonly #cutting = new AbortController();
  #progress: PushProgress;
  /**
   * The sequence of the last handled event. It may be ahead of the stored
   * cursor, because events without a post do not store it.
   */
  #done: bigint;
  /** The monotonic time since which the next event fails, or has no permit. */
  #failingSinceMs: number | undefined;
  /** The time of the event that is posted, or waits to be. */
  #unposted: Timestamp | undefined;
  /** Whether there may be events that no run has looked at. */
  #isWoken = false;
  #running: Promise<void> | undefined;
  /** The state of the task after the last event that was looked at. */
  #state = TaskState.UNSPECIFIED;
  readonly #traces: MessageTraces;
  /** The trace of the message to which that event belongs. */
  #trace: TraceContext | undefined;

  /**
   * @param target the destination; its `onIdle` is called each time when
   * nothing is left to do
   */
  constructor(
    services: DeliveryServices,
    subscription: PushSubscription,
    target: DeliveryTarget,
  ) {
    const { config } = subscription;
    if (!config) throw new Error("a subscription has a config");
    this.#services = services;
    this.#traces = new MessageTraces(services.store);
    this.#subscription = subscription;
    this.#config = config;
    this.#key = pushConfigKey(subscription);
    this.#target = target;
    this.#progress = subscription.progress ?? create(PushProgressSchema);
    this.#done = this.#progress.cursor;
  }

  /** Whether everything is posted and the task is not working. */
  get isIdle(): boolean {
    const isWorking =
      this.#state === TaskState.SUBMITTED || this.#state === TaskState.WORKING;
    return !this.#running && (this.isEnded || !isWorking);
  }

  /** Whether an event is posted, or waits to be. */
  get isPosting(): boolean {
    return this.#running !== undefined;
  }

  /** Returns how much is left to post up to the last event of the task. */
  backlogAt(sequence: bigint): Backlog {
    if (sequence <= this.#done) {
      return { count: 0, oldestMs: 0 };
    }
    const nowMs = this.#services.clock.now();
    const since = this.#unposted ?? this.#progress.failingSince;
    const oldestMs = since ? Math.max(0, nowMs - timestampMs(since)) : 0;
    return { count: Number(sequence - this.#done), oldestMs };
  }

  /** Whether the config was given up. */
  get isEnded(): boolean {
    return this.#progress.endedReason !== "";
  }

  /** Delivers new events, unless the config has ended. */
  wake(): void {
    this.#isWoken = true;
    if (this.#running || this.isEnded || this.#stopping.signal.aborted) return;
    this.#running = this.#run(this.#stopping.signal).finally(() => {
      this.#running = undefined;
      // Events that were appended after the last look.
      if (this.#isWoken) this.wake();
      if (!this.#running) this.#target.onIdle();
    });
  }

  /**
   * Stops delivery. A post in progress has `graceMs` milliseconds to finish.
   */
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
        const { nextAttemptTime } = this.#progress;
        const waitMs = nextAttemptTime
          ? timestampMs(nextAttemptTime) - this.#services.clock.now()
          : 0;
        if (waitMs > 0) await this.#target.breaker.pause(waitMs, signal);
        await this.#drain(signal);
      } catch (reason) {
        if (signal.aborted) return;
        // The store failed. `#done` holds what was delivered, and is stored as
        // soon as the store works again.
        this.#services.onError(reason);
        this.#isWoken = true;
        await this.#services.clock
          .sleep(retryDelayMs(1, this.#services.random()), signal)
          .catch(() => undefined);
      }
    }
  }

  /** Delivers the remaining events until one of them fails. */
  async #drain(signal: AbortSignal): Promise<void> {
    for await (const event of this.#services.store.readEvents(
      this.#key.taskId,
      this.#done,
    )) {
      signal.throwIfAborted();
      if (!(await this.#deliver(event, signal))) return;
    }
    if (this.#done > this.#progress.cursor) {
      await this.#save({ cursor: this.#done });
    }
  }

  /**
   * Delivers one event, and stores the progress. Returns whether the next event
   * may follow.
   */
  async #deliver(event: TaskEvent, signal: AbortSignal): Promise<boolean> {
    const body = await this.#target.encoding.encode(event, () =>
      this.#taskAt(event),
    );
    if (this.#services.operations?.isTraced) {
      this.#trace = await this.#traces.at(event);
    }
    if (!this.#progress.failingSince) this.#failingSinceMs = undefined;
    this.#state = event.state;
    if (body === undefined) {
      this.#done = event.sequence;
      return true;
    }
    this.#unposted = event.time;
    const outcome = await this.#post(event, body, signal);
    if (outcome.case === "delivered") {
      this.#unposted = undefined;
      this.#done = event.sequence;
      await this.#save({ cursor: event.sequence });
      return true;
    }
    // After an abort the stored config may be a newer one, whose progress must
    // not be changed.
    if (signal.aborted) return false;
    if (outcome.case === "gone") {
      await this.#end(outcome.reason);
    } else {
      await this.#fail(outcome.reason, outcome.retryAfterMs);
    }
    return false;
  }

  /** Returns the task as an event left it, with the content of its last turn. */
  async #taskAt({ taskId, sequence }: TaskEvent): Promise<Task> {
    const { store } = this.#services;
    const head = await beginHead(store, taskId, "none", sequence);
    for await (const event of store.readEvents(taskId, head.sequence)) {
      if (event.sequence > sequence) break;
      head.add(event);
    }
    // Most servers have no webhook, and need no message of A2A to start.
    const { neededMessages } = await import("@devtool/schema/a2a-v03");
    const messages = neededMessages(head.task, { historyLength: 0 });
    if (head.hasContent(messages)) return head.task;
    return readContent(store, head, { messages, until: sequence });
  }

  /**
   * Posts an event when a permit is available. Waiting too long for a permit is
   * a failure.
   */
  async #post(
    event: TaskEvent,
    body: string,
    signal: AbortSignal,
  ): Promise<PostOutcome> {
    const { breaker, encoding } = this.#target;
    const { semaphore } = this.#services;
    const permit =
      tryAcquirePermit(breaker, semaphore) ??
      (await this.#waitForPermit(signal));
    if (!permit) return { case: "failed", reason: breaker.lastFailure };
    let outcome: PostOutcome | undefined;
    const { taskId, sequence } = event;
    const config = this.#config;
    const operation = this.#begin(event);
    const { traceContext } = operation ?? {};
    try {
      failpoint("devtool:push.post.before");
      outcome = await this.#services.poster.post(
        {
          ...{ config, taskId, sequence, body, traceContext },
          contentType: encoding.contentType,
        },
        this.#cutting.signal,
      );
      failpoint("devtool:push.post.after");
      return outcome;
    } finally {
      operation?.finish(postEnd(outcome));
      permit.release(outcome);
    }
  }

  /** Tells the observer of a post of an event, in the trace of its message. */
  #begin(event: TaskEvent): OpenOperation | undefined {
    const { id, url } = this.#config;
    return this.#services.operations?.begin({
      kind: "post",
      name: URL.parse(url)?.origin ?? "",
      principal: this.#subscription.principal,
      taskId: event.taskId,
      contextId: event.contextId,
      subjectId: id,
      traceContext: this.#trace,
      facts: { sequence: event.sequence },
    });
  }

  /** Waits for a permit. Undefined when the config would be given up before. */
  async #waitForPermit(signal: AbortSignal): Promise<Permit | undefined> {
    const { clock, semaphore } = this.#services;
    const { breaker } = this.#target;
    const maxWaitMs = Math.max(GIVE_UP_MS - this.#failingMs(), 0);
    if (breaker.isOpen && !this.#progress.failingSince) {
      await this.#save({ failingSince: timestampFromMs(clock.now()) });
    }
    return acquirePermit({ breaker, semaphore, clock }, maxWaitMs, signal);
  }

  /** Schedules the next attempt, or ends the config after a day of failures. */
  async #fail(reason: string, askedMs?: number): Promise<void> {
    const { clock, random } = this.#services;
    const failures = this.#progress.failures + 1;
    const failingMs = this.#failingMs();
    const leftMs = GIVE_UP_MS - failingMs;
    if (leftMs <= 0) return this.#end(`${reason}, for a day`);
    const wantedMs = retryDelayMs(failures, random(), askedMs);
    const delayMs = Math.min(wantedMs, leftMs);
    this.#isWoken = true;
    await this.#save({
      failures,
      failingSince: timestampFromMs(Math.round(clock.now() - failingMs)),
      nextAttemptTime: timestampFromMs(Math.round(clock.now() + delayMs)),
    });
  }

  /**
   * Returns for how many milliseconds the next event fails, or has no permit.
   * Only what an earlier server measured is by the clock of the machine.
   */
  #failingMs(): number {
    const { clock } = this.#services;
    const { failingSince } = this.#progress;
    const nowMs = clock.monotonic();
    const beforeMs = failingSince ? clock.now() - timestampMs(failingSince) : 0;
    this.#failingSinceMs ??= nowMs - Math.max(beforeMs, 0);
    return nowMs - this.#failingSinceMs;
  }

  /** Ends the config: nothing is posted until a client sets it again. */
  async #end(reason: string): Promise<void> {
    await this.#save({ endedReason: reason });
    const host = URL.parse(this.#config.url)?.host ?? "";
    const subject = `notifications ${JSON.stringify(this.#key.configId)} to ${JSON.stringify(host)}`;
    this.#services.onEnded(
      this.#subscription,
      `${subject} have ended: ${reason}: set them again to resume`,
    );
  }

  /** Stores the progress. Fields that `change` does not set are reset. */
  async #save(
    change: MessageInitShape<typeof PushProgressSchema>,
  ): Promise<void> {
    const progress = create(PushProgressSchema, {
      cursor: this.#done,
      ...change,
    });
    await this.#services.configs.saveProgress(
      this.#key,
      progress,
      this.#target.fence,
    );
    this.#progress = progress;
  }
}

const STOPPED = new DOMException("notifications stop", "AbortError");

function postEnd(outcome: PostOutcome | undefined): OperationEnd {
  if (!outcome) return CANCELED_OPERATION;
  return outcome.case === "delivered"
    ? SUCCEEDED
    : { outcome: "failed", error: outcome.reason };
}
