import { create } from "@bufbuild/protobuf";
import { StoredWebPushSchema } from "@devtool/schema";
import { Code, hasCode } from "../errors.ts";
import type { GoneTask } from "../store/task-changes.ts";
import type { ListedTask } from "../store/task-store.ts";
import { retryDelayMs } from "./retry-schedule.ts";
import { checkWebPush, type WebPushSubscription } from "./web-push.ts";
import {
  type NotifiedBrowser,
  WAITING,
  WebPushDelivery,
  type WebPushServices,
} from "./web-push-delivery.ts";

/** The maximum number of waiting tasks to look at in each state. */
const MAX_WAITING = 100;

interface WebPushNotifierOptions extends WebPushServices {
  /**
   * Yields each task that changes, with its last event, and deleted tasks, until
   * the signal aborts. Calls `onBegin` once it misses no change.
   */
  readonly changes: (
    onBegin: () => Promise<void>,
    signal: AbortSignal,
  ) => AsyncIterable<ListedTask | GoneTask>;
  /** Whether a browser may be told of the tasks of its principal. */
  readonly mayRead: (browser: NotifiedBrowser) => boolean;
}

/** A delivery that runs. */
interface RunningDelivery {
  readonly delivery: WebPushDelivery;
  readonly stopping: AbortController;
}

/**
 * Notifies browsers, also while none of their pages is open, of the tasks of
 * their principals that begin to wait.
 *
 * What a browser was told is stored with its session, so a wait that began while
 * nobody could tell of it is told when the server runs again.
 */
export class WebPushNotifier implements AsyncDisposable {
  readonly #options: WebPushNotifierOptions;
  /** By the ids of the browsers' sessions. */
  readonly #deliveries = new Map<string, RunningDelivery>();
  readonly #running = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  /** Ends the watch of the tasks; undefined while no browser is notified. */
  #watching: AbortController | undefined;

  constructor(options: WebPushNotifierOptions) {
    this.#options = options;
  }

  /** Notifies the browsers that an earlier run of the server knew. */
  start(): void {
    for (const browser of this.#options.browsers.notified()) {
      this.#begin(browser);
    }
  }

  /**
   * Notifies the browser of a session of the tasks that begin to wait from now
   * on. Throws `Code.InvalidArgument` for a subscription that cannot be used.
   */
  async subscribe(
    { id, principal }: Pick<NotifiedBrowser, "id" | "principal">,
    subscription: WebPushSubscription,
    signal: AbortSignal,
  ): Promise<void> {
    const { browsers, sender } = this.#options;
    const { endpoint, p256dh, auth } = subscription;
    await checkWebPush(subscription, sender.policy, signal);
    const others = browsers.notified().filter((browser) => browser.id !== id);
    for (const other of others) {
      // Tabs of one browser have sessions of their own. Others may know its
      // endpoint, but not its secret.
      if (isSame(other, subscription)) await this.#end(other.id);
    }
    const known = browsers.notified().find((browser) => browser.id === id);
    // A page subscribes each time when it opens.
    const isRunning = this.#deliveries.has(id);
    if (known && isRunning && isSame(known, subscription)) return;
    const waiting = await this.#waiting(principal);
    const told = Object.fromEntries(
      waiting.map(({ last }) => [last.taskId, last.sequence]),
    );
    const webPush = create(StoredWebPushSchema, {
      ...{ endpoint, p256dh, auth, told },
    });
    // What ends meanwhile for the earlier subscription does not end this one.
    this.#stop(id);
    await browsers.setWebPush(id, webPush);
    const browser = browsers.notified().find((each) => each.id === id);
    if (!browser) return;
    this.#begin(browser);
    // Some may have begun to wait since they were listed.
    for (const task of await this.#waiting(principal)) this.#take(task);
  }

  /** Stops. What is left to tell is told after the next start. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#running);
  }

  #begin(browser: NotifiedBrowser): void {
    const { id, ended } = browser;
    if (this.#stopping.signal.aborted || !this.#options.mayRead(browser)) {
      return;
    }
    this.#stop(id);
    const stopping = new AbortController();
    const delivery = new WebPushDelivery(
      this.#options,
      browser,
      AbortSignal.any([this.#stopping.signal, stopping.signal, ended]),
    );
    this.#deliveries.set(id, { delivery, stopping });
    this.#run(async () => {
      const end = await delivery.run();
      if (this.#deliveries.get(id)?.delivery === delivery) {
        this.#deliveries.delete(id);
        if (end === "gone") await this.#end(id);
      }
      if (this.#deliveries.size > 0) return;
      this.#watching?.abort();
      this.#watching = undefined;
    });
    if (this.#watching) return;
    const watching = new AbortController();
    this.#watching = watching;
    const signal = AbortSignal.any([this.#stopping.signal, watching.signal]);
    this.#run(() => this.#watch(signal));
  }

  #run(work: () => Promise<void>): void {
    const running = work()
      .catch(this.#options.onError)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Stops the delivery to a browser, which then changes nothing any more. */
  #stop(id: string): void {
    this.#deliveries.get(id)?.stopping.abort();
    this.#deliveries.delete(id);
  }

  /** Ends the notifications of a browser. */
  async #end(id: string): Promise<void> {
    this.#stop(id);
    await this.#options.browsers.setWebPush(id, undefined);
  }

  /**
   * Follows the tasks that change until the signal aborts, again after a failure
   * of the store.
   */
  async #watch(signal: AbortSignal): Promise<void> {
    const { changes, clock, random, onError } = this.#options;
    while (!signal.aborted) {
      try {
        const takeWaiting = (): Promise<void> => this.#takeWaiting();
        for await (const task of changes(takeWaiting, signal)) this.#take(task);
      } catch (reason) {
        if (signal.aborted) return;
        // Others tell of a store that is away.
        if (!hasCode(reason, Code.Unavailable)) onError(reason);
      }
      const delayMs = retryDelayMs(1, random());
      await clock.sleep(delayMs, signal).catch(() => undefined);
    }
  }

  /** Takes the tasks that began to wait while nobody followed them. */
  async #takeWaiting(): Promise<void> {
    const principals = this.#options.browsers
      .notified()
      .map((browser) => browser.principal);
    for (const principal of new Set(principals)) {
      for (const task of await this.#waiting(principal)) this.#take(task);
    }
  }

  /** Lists the tasks of a principal that wait, those that changed last. */
  async #waiting(principal: string): Promise<readonly ListedTask[]> {
    const limit = MAX_WAITING;
    const pages = WAITING.map((state) =>
      this.#options.store.list({ principal, state, limit }),
    );
    return (await Promise.all(pages)).flatMap(({ tasks }) => tasks);
  }

  #take(task: ListedTask | GoneTask): void {
    for (const { delivery } of this.#deliveries.values()) {
      if (delivery.browser.principal === task.principal) delivery.take(task);
    }
  }
}

function isSame(
  { webPush }: NotifiedBrowser,
  { endpoint, p256dh, auth }: WebPushSubscription,
): boolean {
  return (
    webPush.endpoint === endpoint &&
    Buffer.compare(webPush.p256dh, p256dh) === 0 &&
    Buffer.compare(webPush.auth, auth) === 0
  );
}
