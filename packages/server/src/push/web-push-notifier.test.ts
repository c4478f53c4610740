import { createECDH, generateKeyPairSync } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  type StoredWebPush,
  StoredWebPushSchema,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import type { ListedTask } from "../store/task-store.ts";
import { GIVE_UP_MS } from "./retry-schedule.ts";
import {
  type NotifiedBrowser,
  WebPushDelivery,
  type WebPushServices,
} from "./web-push-delivery.ts";
import { WebPushNotifier } from "./web-push-notifier.ts";

const NEVER = new AbortController().signal;

describe("the notifications of a browser", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.notifier[Symbol.asyncDispose]());

  it("are of its new subscription, when the earlier one ends while it is stored", async () => {
    await world.subscribe("old");
    await world.begunWatch;
    const post = Promise.withResolvers<never>();
    const posting = Promise.withResolvers<void>();
    world.onLookup = () => {
      posting.resolve();
      return post.promise;
    };
    world.change.resolve(listed(waiting(1n)));
    await posting.promise;
    world.onLookup = noName;
    world.onStore = async () => {
      world.onStore = async () => undefined;
      world.nowMs += GIVE_UP_MS;
      post.reject(new Error("no such name"));
      await nextTurn();
    };
    await world.subscribe("new");
    expect(world.endpoints()).toEqual(["https://new.example/"]);
  });

  it("tell of a task that begins to wait while the subscription is stored", async () => {
    await world.subscribe("one");
    await world.begunWatch;
    world.onStore = () => world.store.append({ events: [waiting(1n)] });
    await world.subscribe("two");
    // It was looked up before it was stored, too.
    await expect
      .poll(() => world.lookups.filter((host) => host === "two.example"))
      .toHaveLength(2);
  });

  it("begin when a page subscribes again after its subscription could not be stored", async () => {
    world.onStore = () => Promise.reject(new Error("disk is full"));
    await expect(world.subscribe("one")).rejects.toThrow("disk is full");
    world.onStore = async () => undefined;
    await world.subscribe("one");
    await world.begunWatch;
    expect(world.endpoints()).toEqual(["https://one.example/"]);
  });

  it("end the watch of the tasks with the last of them, and begin it again", async () => {
    await world.subscribe("one");
    await world.begunWatch;
    world.ended.abort();
    await expect.poll(() => world.watches).toEqual(["ended"]);
    world.ended = new AbortController();
    await world.subscribe("one");
    await expect.poll(() => world.watches).toEqual(["ended", "begun"]);
  });

  it("of others go on when somebody else names their endpoint", async () => {
    await world.subscribe("one");
    await world.subscribe("one", { id: "thief", auth: Buffer.alloc(16, 1) });
    expect(world.ids()).toEqual(["phone", "thief"]);
    await world.subscribe("one", { id: "tab" });
    expect(world.ids()).toEqual(["thief", "tab"]);
  });

  it("end when its push service has taken nothing for a day", async () => {
    const startMs = world.nowMs;
    world.sleep = async (ms) => {
      world.nowMs += ms;
    };
    // The clock is set ahead during each post.
    world.onLookup = () => {
      world.setByMs += GIVE_UP_MS;
      return noName();
    };
    const delivery = world.delivery({});
    delivery.take(listed(waiting(1n)));
    expect(await delivery.run()).toBe("gone");
    const days = (world.nowMs - startMs) / GIVE_UP_MS;
    expect(days).toBeGreaterThanOrEqual(1);
    expect(days).toBeLessThan(1.01);
  });

  it("end as well when each task that nobody could be told of is answered before", async () => {
    const delivery = world.delivery({});
    let sequence = 1n;
    world.sleep = async (ms) => {
      world.nowMs += ms;
      // Answered, and another one begins to wait after an idle day.
      delivery.take(listed({ ...waiting(sequence), state: TaskState.WORKING }));
      await nextTurn();
      world.nowMs += GIVE_UP_MS;
      sequence++;
      delivery.take(listed(waiting(sequence)));
    };
    delivery.take(listed(waiting(sequence)));
    expect(await delivery.run()).toBe("gone");
    // The days in which nothing waited do not count: two failures end nothing.
    expect(sequence).toBeGreaterThan(100n);
    expect(sequence).toBeLessThan(200n);
  });

  it("read what happens to a task that goes on to wait once", async () => {
    const stop = new AbortController();
    const delivery = world.delivery({ t: 1n }, stop.signal);
    const events = [1n, 2n, 3n].map(waiting);
    await world.store.append({ events });
    const running = delivery.run();
    for (const event of events.slice(1)) {
      delivery.take(listed(event));
      await expect
        .poll(() => world.store.readsAfter)
        .toHaveLength(Number(event.sequence) - 1);
    }
    expect(world.store.readsAfter).toEqual([1n, 2n]);
    stop.abort();
    expect(await running).toBe("stopped");
  });
});

class ReadsStore extends MemoryTaskStore {
  /** The sequences after which events were read. */
  readonly readsAfter: bigint[] = [];

  override readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent> {
    this.readsAfter.push(after);
    return super.readEvents(taskId, after);
  }
}

/** A browser whose push service has no address: each post fails. */
class World {
  nowMs = 1_800_000_000_000;
  readonly store = new ReadsStore();
  /** The hosts that were looked up: once for each check, and each post. */
  readonly lookups: string[] = [];
  onLookup: () => Promise<never> = noName;
  /** How far the clock of the machine was set ahead. */
  setByMs = 0;
  onStore: () => Promise<void> = async () => undefined;
  sleep: (ms: number, signal: AbortSignal) => Promise<void> = (_ms, signal) =>
    aborted(signal);
  readonly notifier: WebPushNotifier;
  readonly begunWatch: Promise<void>;
  /** The only change of a task. */
  readonly change = Promise.withResolvers<ListedTask>();
  /** Aborts when the sessions of the browsers end. */
  ended = new AbortController();
  /** The watches of the tasks, in the order in which they began. */
  readonly watches: ("begun" | "ended")[] = [];
  readonly #services: WebPushServices;
  /** By the ids of the sessions. */
  readonly #webPush = new Map<string, StoredWebPush>();

  constructor() {
    const begun = Promise.withResolvers<void>();
    this.begunWatch = begun.promise;
    const change = this.change.promise;
    const { watches } = this;
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const now = (): number => this.nowMs + this.setByMs;
    this.#services = {
      browsers: {
        notified: () =>
          [...this.#webPush].map(([id, webPush]) =>
            browserOf(id, webPush, this.ended.signal),
          ),
        setWebPush: async (id, webPush) => {
          this.#webPush.delete(id);
          if (webPush) this.#webPush.set(id, webPush);
          await this.onStore();
        },
      },
      store: this.store,
      sender: {
        policy: {
          allowedHosts: [],
          ownPorts: () => [],
          allowing: (target) => target,
          resolve: (host) => {
            this.lookups.push(host);
            return this.onLookup();
          },
        },
        key: async () => privateKey,
        issuer: "https://server.example",
        now,
      },
      clock: {
        now,
        monotonic: () => this.nowMs,
        sleep: (ms, signal) => this.sleep(ms, signal),
      },
      random: () => 0,
      onError: (reason) => {
        throw reason;
      },
      operations: undefined,
    };
    this.notifier = new WebPushNotifier({
      ...this.#services,
      mayRead: () => true,
      async *changes(onBegin, signal) {
        await onBegin();
        begun.resolve();
        const at = watches.push("begun") - 1;
        try {
          yield await Promise.race([change, aborted(signal)]);
          await aborted(signal);
        } finally {
          watches[at] = "ended";
        }
      },
    });
  }

  subscribe(
    name: string,
    { id = "phone", auth = new Uint8Array(16) } = {},
  ): Promise<void> {
    return this.notifier.subscribe(
      { id, principal: id === "thief" ? "bob" : "ada" },
      { ...subscription(name), auth },
      NEVER,
    );
  }

  /** Returns a delivery to a browser that was told of tasks. */
  delivery(
    told: Readonly<Record<string, bigint>>,
    signal: AbortSignal = NEVER,
  ): WebPushDelivery {
    const webPush = create(StoredWebPushSchema, {
      ...subscription("phone"),
      told,
    });
    const browser = browserOf("phone", webPush, NEVER);
    return new WebPushDelivery(this.#services, browser, signal);
  }

  endpoints(): readonly string[] {
    return [...this.#webPush.values()].map(({ endpoint }) => endpoint);
  }

  ids(): readonly string[] {
    return [...this.#webPush.keys()];
  }
}

function browserOf(
  id: string,
  webPush: StoredWebPush,
  ended: AbortSignal,
): NotifiedBrowser {
  const principal = id === "thief" ? "bob" : "ada";
  return { id, principal, roles: [], webPush, ended };
}

const P256DH = new Uint8Array(createECDH("prime256v1").generateKeys());

function subscription(name: string) {
  const endpoint = `https://${name}.example/`;
  return { endpoint, p256dh: P256DH, auth: new Uint8Array(16) };
}

/** Returns an event of the task "t" of Ada, which waits. */
function waiting(sequence: bigint): TaskEvent {
  const payload =
    sequence === 1n
      ? ({ case: "created", value: { principal: "ada" } } as const)
      : { case: undefined };
  const state = TaskState.INPUT_REQUIRED;
  return create(TaskEventSchema, { taskId: "t", sequence, state, payload });
}

function listed(last: TaskEvent): ListedTask {
  const label = { title: "", workspacePath: "", agent: "", messageCount: 0 };
  return { last, principal: "ada", ...label };
}

function noName(): Promise<never> {
  return Promise.reject(new Error("no such name"));
}

/** Rejects when a signal aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise;
}
