import { create } from "@bufbuild/protobuf";
import {
  PushFormat,
  PushSubscriptionSchema,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import type { Notification, PostOutcome } from "@devtool/server/testing";
import {
  GIVE_UP_MS,
  MemoryPushConfigStore,
  MemoryTaskStore,
  PushNotifier,
  retryDelayMs,
  taskEventEncoding,
} from "@devtool/server/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "./virtual-clock.ts";

const HOUR_MS = 60 * 60_000;
const LATENCY_MS = 50;
const DELIVERED: PostOutcome = { case: "delivered" };
const FAILED: PostOutcome = { case: "failed", reason: "it answered 500" };

describe("the circuit of an endpoint (PUSH-1)", () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });

  it("lets one post at a time try, however many tasks wait, and all go on once it is back", async () => {
    world.answer = () => FAILED;
    await world.tasks(50, "https://one.test/");
    await world.clock.pass(HOUR_MS);
    const tries = world.posts.length;
    // Alone, each of the 50 would have tried about 15 times.
    expect(tries).toBeLessThan(50 * 3);
    world.answer = () => DELIVERED;
    await world.clock.pass(10 * 60_000 + 5000);
    expect(new Set(world.delivered).size).toBe(50);
  });

  it("is one host's alone: others are posted to at once", async () => {
    world.answer = ({ config }) =>
      config.url.includes("bad") ? FAILED : DELIVERED;
    await world.tasks(20, "https://bad.test/");
    await world.clock.pass(HOUR_MS);
    await world.tasks(20, "https://good.test/");
    await world.clock.pass(20 * LATENCY_MS);
    expect(world.delivered.filter((id) => id.startsWith("good"))).toHaveLength(
      20,
    );
  });

  it("is one principal's alone: nobody trips another's", async () => {
    world.answer = ({ taskId }) =>
      taskId.startsWith("mallory") ? FAILED : DELIVERED;
    await world.tasks(20, "https://shared.test/", "mallory");
    await world.clock.pass(HOUR_MS);
    await world.tasks(20, "https://shared.test/", "ada");
    await world.clock.pass(20 * LATENCY_MS);
    expect(world.delivered.filter((id) => id.startsWith("ada"))).toHaveLength(
      20,
    );
  });

  it("is not held open by one event that is never taken", async () => {
    world.answer = ({ taskId }) => (taskId === "one-0" ? FAILED : DELIVERED);
    await world.tasks(20, "https://one.test/");
    await world.clock.pass(HOUR_MS);
    expect(new Set(world.delivered).size).toBe(19);
  });

  it("limits the concurrent posts to one endpoint, and to all", async () => {
    await world.tasks(30, "https://one.test/");
    for (let host = 0; host < 40; host++) {
      await world.tasks(5, `https://host${host}.test/`);
    }
    await world.clock.pass(HOUR_MS);
    expect(new Set(world.delivered).size).toBe(230);
    expect(world.mostAtOneHost).toBeLessThanOrEqual(4);
    expect(world.mostAtAll).toBeGreaterThan(4);
    expect(world.mostAtAll).toBeLessThanOrEqual(64);
  });

  it("gives a config up after a day, not before, and says why; what waits behind others too", async () => {
    world.answer = () => FAILED;
    await world.tasks(30, "https://one.test/");
    await world.clock.pass(GIVE_UP_MS - HOUR_MS);
    expect(world.ended).toEqual([]);
    await world.clock.pass(2 * HOUR_MS);
    expect(world.ended).toHaveLength(30);
    const reasons = new Set(
      world.ended.map((text) => text.replace(/.* have ended: /, "")),
    );
    expect(reasons).toEqual(
      new Set(["it answered 500, for a day: set them again to resume"]),
    );
    const tries = world.posts.length;
    await world.clock.pass(GIVE_UP_MS);
    expect(world.posts.length).toBe(tries);
  });

  it("measures the day by no clock that can be set, ahead or back", async () => {
    world.answer = () => FAILED;
    await world.tasks(1, "https://one.test/");
    await world.tasks(6, "https://many.test/");
    await world.clock.pass(HOUR_MS);
    world.clock.set(2 * GIVE_UP_MS);
    await world.clock.pass(HOUR_MS);
    world.clock.set(-3 * GIVE_UP_MS);
    const tries = world.posts.length;
    await world.clock.pass(HOUR_MS);
    expect(world.posts.length - tries).toBeGreaterThan(5);
    await world.clock.pass(GIVE_UP_MS - 4 * HOUR_MS);
    expect(world.ended).toEqual([]);
    await world.clock.pass(2 * HOUR_MS);
    expect(world.ended).toHaveLength(7);
  });

  it("is posted to no sooner than its answer asks, and within a day all the same", async () => {
    const retryAfterMs = 3 * HOUR_MS;
    world.answer = () => ({ ...FAILED, retryAfterMs });
    await world.tasks(1, "https://one.test/");
    await world.clock.pass(retryAfterMs - 60_000);
    expect(world.posts).toHaveLength(1);
    await world.clock.pass(120_000);
    expect(world.posts).toHaveLength(2);
    world.answer = () => ({ ...FAILED, retryAfterMs: 1000 * GIVE_UP_MS });
    await world.clock.pass(GIVE_UP_MS);
    expect(world.ended).toHaveLength(1);
  });

  it("waits longer after each failure, up to ten minutes, and never the same for all", () => {
    expect(
      [1, 2, 3, 10, 11, 40].map((failures) => retryDelayMs(failures, 0)),
    ).toEqual([1000, 2000, 4000, 512_000, 600_000, 600_000]);
    expect(retryDelayMs(3, 1)).toBe(2000);
    expect(retryDelayMs(3, 0, 3000)).toBe(4000);
    expect(retryDelayMs(3, 0, 5000)).toBe(5000);
    expect(retryDelayMs(3, 0, Number.POSITIVE_INFINITY)).toBe(GIVE_UP_MS);
  });
});

/** A notifier whose endpoints answer as a test says, in virtual time. */
class World {
  readonly clock = new VirtualClock();
  readonly posts: string[] = [];
  readonly delivered: string[] = [];
  readonly ended: string[] = [];
  mostAtOneHost = 0;
  mostAtAll = 0;
  answer: (notification: Notification) => PostOutcome = () => DELIVERED;
  readonly #store = new MemoryTaskStore();
  readonly #configs = new MemoryPushConfigStore();
  readonly #inFlight = new Map<string, number>();
  readonly #notifier = new PushNotifier({
    store: this.#store,
    configs: this.#configs,
    encodings: new Map([[PushFormat.TASK_EVENT, taskEventEncoding]]),
    poster: {
      post: (notification, signal) => this.#post(notification, signal),
    },
    clock: this.clock,
    random: () => 0,
    onEnded: (_subscription, text) => void this.ended.push(text),
    onError: (reason) => {
      throw reason;
    },
  });

  /** Makes tasks of one event each, to be posted to one endpoint. */
  async tasks(
    count: number,
    url: string,
    principal = new URL(url).hostname.split(".")[0] ?? "",
  ): Promise<void> {
    for (let number = 0; number < count; number++) {
      const taskId = `${principal}-${number}`;
      const payload = { case: "created" as const, value: { principal } };
      const event = create(TaskEventSchema, {
        sequence: 1n,
        taskId,
        state: TaskState.COMPLETED,
        payload,
      });
      await this.#store.append({ events: [event] });
      const config = { id: "c", taskId, url, format: PushFormat.TASK_EVENT };
      await this.#configs.put(
        create(PushSubscriptionSchema, {
          config,
          principal,
          progress: { cursor: 0n },
        }),
      );
      await this.#notifier.changed({ taskId, configId: "c" });
    }
  }

  async #post(
    notification: Notification,
    signal: AbortSignal,
  ): Promise<PostOutcome> {
    const { origin } = new URL(notification.config.url);
    this.posts.push(notification.taskId);
    this.#count(origin, 1);
    try {
      await this.clock.sleep(LATENCY_MS, signal);
    } finally {
      this.#count(origin, -1);
    }
    const outcome = this.answer(notification);
    if (outcome.case === "delivered") this.delivered.push(notification.taskId);
    return outcome;
  }

  #count(origin: string, change: number): void {
    this.#inFlight.set(origin, (this.#inFlight.get(origin) ?? 0) + change);
    const counts = [...this.#inFlight.values()];
    this.mostAtOneHost = Math.max(this.mostAtOneHost, ...counts);
    this.mostAtAll = Math.max(
      this.mostAtAll,
      counts.reduce((sum, one) => sum + one, 0),
    );
  }
}
