import { createHash } from "node:crypto";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import {
  PushFormat,
  PushSubscriptionSchema,
  TaskEventSchema,
  TaskState,
} from "@devtool/schema";
import { SqliteTaskStore } from "@devtool/server/store";
import type {
  Notification,
  Poster,
  PostOutcome,
  PushConfigStore,
} from "@devtool/server/testing";
import { PushNotifier, taskEventEncoding } from "@devtool/server/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { VirtualClock } from "../push/virtual-clock.ts";

const ENDPOINTS = 100;
const EVENTS = 100;
/** Never answers anything but failure. */
const DEAD = 0;
/** Takes each post and never ends its answer. */
const DRIPPING = 1;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/**
 * How long a post is on its way, and how long one that is never answered may
 * be.
 */
const LATENCY_MS = 20;
const DEADLINE_MS = 15_000;

const TASKS = Array.from(
  { length: ENDPOINTS },
  (_, endpoint) => `t${String(endpoint).padStart(3, "0")}`,
);

describe.skipIf(LEFT_TO_CI !== "")(
  `notifications through an outage (R14)${LEFT_TO_CI}`,
  () => {
    let directory: string;
    beforeEach(() => {
      directory = temporaryDirectory();
    });

    it("all arrive, in order, with stable ids and few duplicates, after an hour down, kills and restarts", async () => {
      const world = new World(join(directory, "tasks.db"));
      await world.start();
      await world.setUp();
      const before = await heapBytes();
      world.isDown = true;
      for (let sequence = 2; sequence <= EVENTS / 2; sequence++) {
        await world.append(sequence);
      }
      for (let quarter = 0; quarter < 4; quarter++) {
        await world.clock.pass(HOUR_MS / 4);
        if (quarter % 2 === 0) {
          await world.restart();
        } else {
          await world.kill();
        }
      }
      world.isDown = false;
      // It is back: the server is killed while it catches up, and again while
      // more events are on their way.
      while (world.arrivedAt("t050") < 20) await world.clock.pass(100);
      await world.killInFlight();
      await world.clock.pass(HOUR_MS / 4);
      for (let sequence = EVENTS / 2 + 1; sequence <= EVENTS; sequence++) {
        await world.append(sequence);
        if (sequence === 60 || sequence === 80) await world.killInFlight();
        if (sequence % 10 === 0) await world.clock.pass(MINUTE_MS);
      }
      await world.clock.pass(HOUR_MS);
      const growth = (await heapBytes()) - before;
      const report = world.report();
      console.info(
        `R14: ${report.posts} posts of ${ENDPOINTS * EVENTS} events, ${world.kills} kills and ${world.restarts} restarts, ` +
          `at most ${report.mostDuplicates} duplicates at an endpoint, heap ${(growth / 2 ** 20).toFixed(1)} MiB`,
      );
      expect(report.wrong).toEqual([]);
      expect(report.mostDuplicates).toBeLessThanOrEqual(
        world.kills + world.restarts,
      );
      // The kills met posts on their way, or the bound above would say nothing.
      expect(report.mostDuplicates).toBeGreaterThanOrEqual(1);
      expect(growth).toBeLessThan(20 * 2 ** 20);

      await world.clock.pass(25 * HOUR_MS);
      expect(world.given.map(({ taskId }) => taskId).toSorted()).toEqual([
        "t000",
        "t001",
      ]);
      await world.stop();
    }, 120_000);

    it("are posted within two seconds to endpoints that work, beside one that is dead and one that drips", async () => {
      const world = new World(join(directory, "tasks.db"));
      await world.start();
      await world.setUp();
      const delays: number[] = [];
      world.onDelivered = ({ atMs }) => delays.push(world.clock.now() - atMs);
      for (let sequence = 2; sequence <= 20; sequence++) {
        await world.append(sequence);
        await world.clock.pass(1000);
      }
      await world.clock.pass(MINUTE_MS);
      delays.sort((one, other) => one - other);
      const p99 = delays[Math.floor(delays.length * 0.99)];
      console.info(
        `R14: ${delays.length} events to endpoints that are well, p99 ${p99} ms of virtual time`,
      );
      expect(delays.length).toBe((ENDPOINTS - 2) * 19);
      expect(p99).toBeLessThanOrEqual(2000);
      await world.stop();
    });
  },
);

/**
 * A server's outbox on a real file, and a network of endpoints in virtual time.
 */
class World {
  readonly clock = new VirtualClock();
  readonly given: { readonly taskId: string; readonly text: string }[] = [];
  isDown = false;
  kills = 0;
  restarts = 0;
  onDelivered: (event: { readonly atMs: number }) => void = () => {};
  readonly #path: string;
  readonly #posts = new Map<string, bigint[]>();
  readonly #bodies = new Map<string, string>();
  readonly #appended = new Map<string, number>();
  #life: Life | undefined;
  #tries = 0;
  #wrong: string[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  async start(): Promise<void> {
    const store = await SqliteTaskStore.open(this.#path);
    const death = new AbortController();
    const notifier = new PushNotifier({
      store,
      configs: mortal(store.pushConfigs, death.signal),
      encodings: new Map([[PushFormat.TASK_EVENT, taskEventEncoding]]),
      poster: this.#network(death.signal),
      clock: {
        now: () => this.clock.now(),
        monotonic: () => this.clock.monotonic(),
        sleep: (ms, signal) => this.#sleep(ms, signal, death.signal),
      },
      random: () => 0.5,
      onEnded: ({ config }, text) =>
        void this.given.push({ taskId: config?.taskId ?? "", text }),
      onError: (reason) => {
        if (!death.signal.aborted) this.#wrong.push(String(reason));
      },
    });
    this.#life = { store, notifier, death };
    await notifier.start();
  }

  /** A task for each endpoint, with its first event. */
  async setUp(): Promise<void> {
    await this.append(1);
    for (const [endpoint, taskId] of TASKS.entries()) {
      const config = {
        id: "c",
        taskId,
        url: `https://e${endpoint}.test/`,
        format: PushFormat.TASK_EVENT,
      };
      await this.#running.store.pushConfigs.put(
        create(PushSubscriptionSchema, {
          config,
          principal: "local",
          progress: { cursor: 0n },
        }),
      );
      await this.#running.notifier.changed({ taskId, configId: "c" });
    }
    await this.clock.pass(MINUTE_MS);
  }

  async append(sequence: number): Promise<void> {
    await Promise.all(TASKS.map((taskId) => this.#append(taskId, sequence)));
  }

  /** As the operator stops and starts a server. */
  async restart(): Promise<void> {
    this.restarts++;
    await this.stop();
    await this.start();
  }

  /** As the kernel ends a process: nothing that was not durable remains. */
  async kill(): Promise<void> {
    this.kills++;
    const { store, death } = this.#running;
    death.abort();
    await store[Symbol.asyncDispose]();
    await this.start();
  }

  /** A kill when posts have arrived whose delivery nobody could note. */
  async killInFlight(): Promise<void> {
    await this.clock.pass(LATENCY_MS / 2);
    await this.kill();
  }

  async stop(): Promise<void> {
    const { store, notifier } = this.#running;
    const stopped = notifier[Symbol.asyncDispose]();
    await this.clock.pass(DEADLINE_MS);
    await stopped;
    await store[Symbol.asyncDispose]();
  }

  /** How many posts have arrived for a task. */
  arrivedAt(taskId: string): number {
    return this.#posts.get(taskId)?.length ?? 0;
  }

  /** The deliveries that arrived, and the faults found in them. */
  report(): {
    readonly wrong: readonly string[];
    readonly posts: number;
    readonly mostDuplicates: number;
  } {
    let mostDuplicates = 0;
    let posts = 0;
    for (const taskId of TASKS.slice(2)) {
      const got = this.#posts.get(taskId) ?? [];
      const firsts = [...new Set(got)];
      posts += got.length;
      mostDuplicates = Math.max(mostDuplicates, got.length - firsts.length);
      const wanted = Array.from({ length: EVENTS }, (_, index) =>
        BigInt(index + 1),
      );
      if (String(firsts) !== String(wanted)) {
        this.#wrong.push(`${taskId}: ${firsts}`);
      }
      const back = got.findIndex(
        (sequence, index) => sequence < (got[index - 1] ?? 0n),
      );
      if (back >= 0) this.#wrong.push(`${taskId} went back to ${got[back]}`);
    }
    return { wrong: this.#wrong, posts, mostDuplicates };
  }

  get #running(): Life {
    if (!this.#life) throw new Error("nothing runs");
    return this.#life;
  }

  async #append(taskId: string, sequence: number): Promise<void> {
    const time = this.clock.now();
    this.#appended.set(`${taskId}:${sequence}`, time);
    const payload =
      sequence === 1
        ? { case: "created" as const, value: { principal: "local" } }
        : {
            case: "text" as const,
            value: { text: `event ${sequence} `.repeat(20) },
          };
    const event = {
      sequence: BigInt(sequence),
      taskId,
      contextId: "c",
      state: TaskState.WORKING,
      payload,
    };
    await this.#running.store.append({
      events: [
        create(TaskEventSchema, { ...event, time: timestampFromMs(time) }),
      ],
    });
    this.#running.notifier.wake(taskId);
  }

  #network(death: AbortSignal): Poster {
    return {
      post: async (notification, signal) => {
        const endpoint = Number(notification.taskId.slice(1));
        if (endpoint === DRIPPING) {
          await this.#sleep(DEADLINE_MS, signal, death);
          return { case: "failed", reason: "it took longer than 15 s" };
        }
        if (endpoint === DEAD || this.isDown) {
          return { case: "failed", reason: "it did not answer" };
        }
        if (this.#tries++ % 29 === 0) {
          return { case: "failed", reason: "it answered 503" };
        }
        this.#arrive(notification);
        await this.#sleep(LATENCY_MS, signal, death);
        return { case: "delivered" } satisfies PostOutcome;
      },
    };
  }

  /** Nothing of a dead process ever goes on. */
  async #sleep(
    ms: number,
    signal: AbortSignal,
    death: AbortSignal,
  ): Promise<void> {
    try {
      await this.clock.sleep(ms, AbortSignal.any([signal, death]));
    } catch (reason) {
      if (death.aborted) await never();
      throw reason;
    }
  }

  #arrive({ taskId, sequence, body }: Notification): void {
    const got = this.#posts.get(taskId) ?? [];
    got.push(sequence);
    this.#posts.set(taskId, got);
    const id = `${taskId}:${sequence}`;
    const digest = createHash("sha256").update(body).digest("base64");
    if ((this.#bodies.get(id) ?? digest) !== digest) {
      this.#wrong.push(`${id} has another body`);
    }
    this.#bodies.set(id, digest);
    this.onDelivered({ atMs: this.#appended.get(id) ?? 0 });
  }
}

interface Life {
  readonly store: SqliteTaskStore;
  readonly notifier: PushNotifier;
  readonly death: AbortController;
}

/** A store whose writes end with its process. */
function mortal(configs: PushConfigStore, death: AbortSignal): PushConfigStore {
  return {
    put: (subscription) => configs.put(subscription),
    get: (key) => configs.get(key),
    list: (taskId) => configs.list(taskId),
    activeTasks: () => configs.activeTasks(),
    delete: (key) => configs.delete(key),
    saveProgress: (key, progress) =>
      death.aborted ? never() : configs.saveProgress(key, progress),
  };
}

function never(): Promise<never> {
  return new Promise(() => {});
}

/**
 * The heap without what can be collected; what was weakly held goes with the
 * second collection.
 */
async function heapBytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  for (let turn = 0; turn < 3; turn++) {
    if (typeof collect === "function") collect();
    await new Promise((resolve) => void setImmediate(resolve));
  }
  return process.memoryUsage().heapUsed;
}
