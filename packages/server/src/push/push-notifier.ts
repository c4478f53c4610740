import { Semaphore } from "@devtool/internal/semaphore";
import type { PushConfig, PushSubscription } from "@devtool/schema";
import {
  type PushConfigKey,
  pushConfigKey,
} from "../store/push-config-store.ts";
import type { Backlog } from "../store/task-inbox.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { Delivery, type DeliveryServices } from "./delivery.ts";
import type { PushEncodings } from "./push-format.ts";

/** The maximum number of concurrent posts to all hosts together. */
const MAX_IN_FLIGHT = 64;

/** The number of circuit breakers beyond which those at rest are removed. */
const MAX_BREAKERS = 1024;

/**
 * The time in milliseconds that a post in progress has to finish when its
 * delivery stops.
 */
const GRACE_MS = 2000;

interface PushNotifierOptions extends Omit<DeliveryServices, "semaphore"> {
  readonly encodings: PushEncodings;
  /**
   * Returns the fence of the lease under which this server has a task;
   * undefined when it does not have it, so that nothing is posted here.
   * Default: this server has all tasks.
   */
  readonly fenceOf?: ((taskId: string) => bigint | undefined) | undefined;
}

/** The deliveries of a task, by the ids of their configs. */
type Deliveries = Map<string, Delivery>;

/**
 * Posts the events of tasks to their push configs, at least once and in order
 * per task (PUSH-1).
 *
 * The tasks' logs are the outbox: each config stores a cursor into its task's
 * log. A stop or a crash loses nothing, and repeats at most the one post of
 * each config that was in progress.
 */
export class PushNotifier implements AsyncDisposable {
  readonly #services: DeliveryServices;
  readonly #encodings: PushEncodings;
  readonly #fenceOf: (taskId: string) => bigint | undefined;
  /**
   * The tasks with a config that has not ended. Events of other tasks are
   * ignored.
   */
  readonly #active = new Set<string>();
  /** The deliveries of the tasks that are not idle, by task id. */
  readonly #deliveries = new Map<string, Deliveries>();
  /**
   * The last pending change to the deliveries of a task. Changes to one task
   * are made in order.
   */
  readonly #changes = new Map<string, Promise<void>>();
  readonly #breakers = new Map<string, CircuitBreaker>();
  readonly #stopping = new AbortController();
  #isStarted = false;

  constructor({
    encodings,
    fenceOf = () => 0n,
    ...services
  }: PushNotifierOptions) {
    this.#encodings = encodings;
    this.#fenceOf = fenceOf;
    this.#services = { ...services, semaphore: new Semaphore(MAX_IN_FLIGHT) };
  }

  /** Resumes the deliveries that an earlier run of the server left. */
  async start(): Promise<void> {
    this.#isStarted = true;
    for await (const taskId of this.#services.configs.activeTasks()) {
      if (this.#stopping.signal.aborted) return;
      await this.resume(taskId);
    }
  }

  /**
   * Resumes the deliveries of a task that this server has got. Does nothing
   * before `start`, which does it for all tasks.
   */
  async resume(taskId: string): Promise<void> {
    if (
      !this.#isStarted ||
      this.#stopping.signal.aborted ||
      this.#fenceOf(taskId) === undefined
    ) {
      return;
    }
    this.#active.add(taskId);
    await this.#change(taskId);
  }

  /** Whether something is posted for a task, or waits to be. */
  isBusy(taskId: string): boolean {
    return this.#changes.has(taskId) || this.#deliveries.has(taskId);
  }

  /**
   * Returns how much is left to post. Rejects when the store cannot be read.
   *
   * @param sequences the last sequence of each open task; those of others are
   * in the store
   */
  async backlog(sequences: ReadonlyMap<string, bigint>): Promise<Backlog> {
    let count = 0;
    let oldestMs = 0;
    for (const [taskId, deliveries] of [...this.#deliveries]) {
      const posting = [...deliveries.values()].filter((each) => each.isPosting);
      if (posting.length === 0) continue;
      const sequence =
        sequences.get(taskId) ?? (await this.#storedSequence(taskId));
      for (const delivery of posting) {
        const left = delivery.backlogAt(sequence);
        count += left.count;
        oldestMs = Math.max(oldestMs, left.oldestMs);
      }
    }
    return { count, oldestMs };
  }

  async #storedSequence(idPrefix: string): Promise<bigint> {
    const { tasks } = await this.#services.store.list({ idPrefix, limit: 1 });
    return tasks[0]?.last.taskId === idPrefix ? tasks[0].last.sequence : 0n;
  }

  /**
   * Ends the deliveries of a task at once, because this server does not have it
   * any more.
   */
  async abandon(taskId: string): Promise<void> {
    this.#active.delete(taskId);
    const deliveries =
      this.#deliveries.get(taskId) ?? new Map<string, Delivery>();
    // At once: this server may get the task again meanwhile, with deliveries of
    // their own.
    this.#deliveries.delete(taskId);
    await Promise.all(
      [...deliveries.values()].map((delivery) => delivery.stop(0)),
    );
  }

  /** Delivers the new events of a task. Called when they are durable. */
  wake(taskId: string): void {
    if (!this.#active.has(taskId) || this.#stopping.signal.aborted) return;
    const deliveries = this.#deliveries.get(taskId);
    if (deliveries) {
      for (const delivery of deliveries.values()) delivery.wake();
    } else if (!this.#changes.has(taskId)) {
      void this.#change(taskId);
    }
  }

  /**
   * Applies a config that was stored, replaced or deleted. Resolves when its
   * earlier version posts nothing any more.
   */
  async changed({ taskId, configId }: PushConfigKey): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#active.add(taskId);
    await this.#change(taskId, configId);
  }

  /** Stops posting. The remaining events are posted after the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#changes.values());
    const all = [...this.#deliveries.values()].flatMap((deliveries) => [
      ...deliveries.values(),
    ]);
    await Promise.all(all.map((delivery) => delivery.stop(GRACE_MS)));
    this.#deliveries.clear();
  }

  /**
   * Starts the deliveries of a task after its earlier changes; restarts the
   * delivery of a changed config.
   */
  #change(taskId: string, configId?: string): Promise<void> {
    const change = (this.#changes.get(taskId) ?? Promise.resolve())
      .then(() => this.#refresh(taskId, configId))
      .catch(this.#services.onError)
      .finally(() => {
        if (this.#changes.get(taskId) === change) this.#changes.delete(taskId);
        this.#closeIdle(taskId);
      });
    this.#changes.set(taskId, change);
    return change;
  }

  async #refresh(taskId: string, configId: string | undefined): Promise<void> {
    const { configs } = this.#services;
    const known = this.#deliveries.get(taskId);
    if (!known) {
      const subscriptions = await configs.list(taskId);
      const opened: Deliveries = new Map();
      this.#deliveries.set(taskId, opened);
      for (const subscription of subscriptions) {
        this.#begin(opened, subscription);
      }
    } else if (configId !== undefined) {
      await known.get(configId)?.stop(GRACE_MS);
      known.delete(configId);
      const subscription = await configs.get({ taskId, configId });
      if (subscription) this.#begin(known, subscription);
    }
  }

  #begin(deliveries: Deliveries, subscription: PushSubscription): void {
    const { taskId, configId } = pushConfigKey(subscription);
    const { config, principal } = subscription;
    const encoding = config && this.#encodings.get(config.format);
    const fence = this.#fenceOf(taskId);
    if (!encoding || fence === undefined || deliveries.has(configId)) return;
    const breaker = this.#breakerOf(config, principal);
    const delivery = new Delivery(this.#services, subscription, {
      encoding,
      breaker,
      fence,
      onIdle: () => this.#closeIdle(taskId),
    });
    deliveries.set(configId, delivery);
    delivery.wake();
  }

  /**
   * Removes the deliveries of a task when all of them are idle. The next event
   * creates them again.
   */
  #closeIdle(taskId: string): void {
    const known = this.#deliveries.get(taskId);
    if (!known || this.#changes.has(taskId)) return;
    const deliveries = [...known.values()];
    if (!deliveries.every(({ isIdle }) => isIdle)) return;
    this.#deliveries.delete(taskId);
    if (deliveries.every(({ isEnded }) => isEnded)) this.#active.delete(taskId);
  }

  /**
   * Returns the circuit breaker of a principal and an origin, so that one
   * principal's failures never delay another's posts.
   */
  #breakerOf({ url }: PushConfig, principal: string): CircuitBreaker {
    const key = JSON.stringify([principal, URL.parse(url)?.origin]);
    const known = this.#breakers.get(key);
    if (known) return known;
    const { clock, random } = this.#services;
    const breaker = new CircuitBreaker({
      clock,
      random,
      stopped: this.#stopping.signal,
    });
    if (this.#breakers.size >= MAX_BREAKERS) {
      for (const [other, { isAtRest }] of this.#breakers) {
        if (isAtRest) this.#breakers.delete(other);
      }
    }
    this.#breakers.set(key, breaker);
    return breaker;
  }
}
