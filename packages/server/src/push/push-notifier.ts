import type { PushConfig, PushSubscription } from "@devtool/schema";
import { keyOf, type PushConfigKey } from "../store/push-config-store.ts";
import { Semaphore } from "../stream/semaphore.ts";
import { CircuitBreaker } from "./circuit-breaker.ts";
import { Delivery, type DeliveryServices, type DeliveryTarget } from "./delivery.ts";
import type { PushEncodings } from "./push-format.ts";

/** Maximum number of posts at a time, to all hosts together. */
const MAX_IN_FLIGHT = 64;

/** Number of hosts that are remembered before those are forgotten that have nothing to remember. */
const MAX_BREAKERS = 1024;

/** Time in milliseconds that a post which was begun has to finish when its delivery stops. */
const GRACE_MS = 2000;

/** Dependencies of `PushNotifier`. */
export interface PushNotifierOptions extends Omit<DeliveryServices, "semaphore"> {
  readonly encodings: PushEncodings;
}

/** The deliveries of a task, by the ids of their configs. */
type Deliveries = Map<string, Delivery>;

/**
 * Posts the events of tasks to their configs, at least once and in order per task (PUSH-1). The outbox is the tasks' own
 * logs, read from the cursor of each config: a stop or a crash loses nothing, and at most the one post of a config that
 * was on its way is made twice.
 */
export class PushNotifier implements AsyncDisposable {
  readonly #services: DeliveryServices;
  readonly #encodings: PushEncodings;
  /** The tasks with a config that posts: those of all others cost nothing. */
  readonly #active = new Set<string>();
  /** The deliveries of the tasks that have something to post, by the ids of the tasks. */
  readonly #deliveries = new Map<string, Deliveries>();
  /** The last change to the configs of a task, while it is being made: they are made one after the other. */
  readonly #changes = new Map<string, Promise<void>>();
  readonly #breakers = new Map<string, CircuitBreaker>();
  readonly #stopping = new AbortController();

  constructor({ encodings, ...services }: PushNotifierOptions) {
    this.#encodings = encodings;
    this.#services = { ...services, semaphore: new Semaphore(MAX_IN_FLIGHT) };
  }

  /** Goes on with what an earlier run of the server left. */
  async start(): Promise<void> {
    for await (const taskId of this.#services.configs.activeTasks()) {
      if (this.#stopping.signal.aborted) return;
      this.#active.add(taskId);
      await this.#change(taskId);
    }
  }

  /** Delivers the new events of a task, which are durable. */
  wake(taskId: string): void {
    if (!this.#active.has(taskId) || this.#stopping.signal.aborted) return;
    const deliveries = this.#deliveries.get(taskId);
    if (deliveries) for (const delivery of deliveries.values()) delivery.wake();
    else if (!this.#changes.has(taskId)) void this.#change(taskId);
  }

  /** Takes a config that was stored, replaced or deleted. Resolves when nothing is posted by the earlier one. */
  async changed({ taskId, configId }: PushConfigKey): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#active.add(taskId);
    await this.#change(taskId, configId);
  }

  /** Stops posting; what is left is posted after the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#changes.values());
    const all = [...this.#deliveries.values()].flatMap((deliveries) => [...deliveries.values()]);
    await Promise.all(all.map((delivery) => delivery.stop(GRACE_MS)));
    this.#deliveries.clear();
  }

  /** Begins the deliveries of a task, or begins that of a changed config anew; after the changes before. */
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
      for (const subscription of subscriptions) this.#begin(opened, subscription);
    } else if (configId !== undefined) {
      await known.get(configId)?.stop(GRACE_MS);
      known.delete(configId);
      const subscription = await configs.get({ taskId, configId });
      if (subscription) this.#begin(known, subscription);
    }
  }

  #begin(deliveries: Deliveries, subscription: PushSubscription): void {
    const { taskId, configId } = keyOf(subscription);
    const target = this.#targetOf(subscription);
    if (!target || deliveries.has(configId)) return;
    const onIdle = (): void => this.#closeIdle(taskId);
    const delivery = new Delivery(this.#services, subscription, { ...target, onIdle });
    deliveries.set(configId, delivery);
    delivery.wake();
  }

  /** Forgets the deliveries of a task that rests: the next event begins them anew. */
  #closeIdle(taskId: string): void {
    const known = this.#deliveries.get(taskId);
    if (!known || this.#changes.has(taskId)) return;
    const deliveries = [...known.values()];
    if (!deliveries.every(({ isIdle }) => isIdle)) return;
    this.#deliveries.delete(taskId);
    if (deliveries.every(({ isEnded }) => isEnded)) this.#active.delete(taskId);
  }

  #targetOf({ config, principal }: PushSubscription): DeliveryTarget | undefined {
    const encoding = config && this.#encodings.get(config.format);
    return encoding && { encoding, breaker: this.#breakerOf(config, principal) };
  }

  /** One circuit breaker per principal and origin, so one principal's failures never block another's. */
  #breakerOf({ url }: PushConfig, principal: string): CircuitBreaker {
    const key = JSON.stringify([principal, URL.parse(url)?.origin]);
    const known = this.#breakers.get(key);
    if (known) return known;
    const { clock, random } = this.#services;
    const breaker = new CircuitBreaker({ clock, random, stopped: this.#stopping.signal });
    if (this.#breakers.size >= MAX_BREAKERS) this.#forgetBreakers();
    this.#breakers.set(key, breaker);
    return breaker;
  }

  #forgetBreakers(): void {
    for (const [key, breaker] of this.#breakers) if (breaker.isAtRest) this.#breakers.delete(key);
  }
}
