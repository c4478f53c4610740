import type { TaskEvent } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { Code, DevtoolError } from "../errors.ts";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { OpenTasks } from "./open-tasks.ts";
import { Takeover } from "./takeover.ts";

function unused(): never {
  throw new Error("nothing calls it here");
}

describe("Takeover", () => {
  it("looks at once when a server gives its tasks up, also when it does so during a look", async () => {
    await using store = new MemoryTaskStore();
    await using registry = new OpenTasks({
      store,
      createExecutor: unused,
      now: () => new Date(),
    });
    const ending = new AbortController();
    const looks: PromiseWithResolvers<readonly string[]>[] = [];
    const begun: (() => void)[] = [];
    let giveUp = (): void => undefined;
    const isBegun = () => new Promise<void>((resolve) => begun.push(resolve));
    const takeover = new Takeover({
      registry,
      shared: {
        leases: {
          create: unused,
          acquire: unused,
          announce: unused,
          giveUp: unused,
          orphaned: () => {
            const look = Promise.withResolvers<readonly string[]>();
            looks.push(look);
            begun.shift()?.();
            return look.promise;
          },
        },
        changes: {
          watch: unused,
          watchAll: unused,
          watchDeleted: unused,
          watchGivenUp: (wake) => {
            giveUp = wake;
            return { [Symbol.dispose]: () => undefined };
          },
        },
      },
      // Time stands still: only what other servers say begins another look.
      clock: {
        now: () => 0,
        sleep: (_ms, signal) =>
          new Promise((_resolve, reject) => {
            if (signal.aborted) reject(signal.reason);
            signal.addEventListener("abort", () => reject(signal.reason), {
              once: true,
            });
          }),
      },
      onError: unused,
      onNotice: unused,
    });
    const first = isBegun();
    const watching = takeover.watch(ending.signal);
    await first;
    const second = isBegun();
    giveUp();
    looks[0]?.resolve([]);
    await second;
    const third = isBegun();
    looks[1]?.resolve([]);
    // The look has ended by the time that a timer fires.
    await new Promise((resolve) => setImmediate(resolve));
    expect(looks.length).toBe(2);
    giveUp();
    await third;
    looks[2]?.resolve([]);
    ending.abort();
    await watching;
    expect(looks.length).toBe(3);
  });

  it("tries a task again at the next look when its log could not be read, also under a lease that it could not release", async () => {
    const { store, look, clock } = readingTasks();
    store.problem = new DevtoolError("the database is gone", Code.Unavailable);
    await expect(look(["t1"])).rejects.toThrow(
      "tasks of another server cannot be opened",
    );
    clock.time += 1_000;
    await expect(look([])).rejects.toThrow(
      "tasks of another server cannot be opened",
    );
    store.problem = undefined;
    clock.time += 2_000;
    await look([]);
    const { reads } = store;
    expect(reads).toBeGreaterThan(2);
    await look([]);
    expect(store.reads).toBe(reads);
  });

  it("tries a task that goes on failing ever less often, up to once a minute", async () => {
    const { store, look, clock } = readingTasks();
    store.problem = new DevtoolError("the agent is gone", Code.NotFound);
    const failedAt: number[] = [];
    for (let second = 0; second <= 200; second++) {
      clock.time = second * 1_000;
      await look(["t1"]).catch(() => failedAt.push(second));
    }
    expect(failedAt).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183]);
  });

  it("looks for other tasks than those that could not be opened, which would fill a look", async () => {
    const { store, look, leftOut } = readingTasks();
    store.problem = new DevtoolError("the log is damaged", Code.DataLoss);
    await look(["t1", "t2"]).catch(() => undefined);
    await look([]);
    expect(leftOut).toEqual([[], ["t1", "t2"]]);
  });

  it("tries a task whose log is damaged once a minute", async () => {
    const { store, look, clock } = readingTasks();
    store.problem = new DevtoolError(
      "the log of the task is damaged",
      Code.DataLoss,
    );
    await expect(look(["t1"])).rejects.toThrow(
      "tasks of another server cannot be opened",
    );
    await look(["t1"]);
    expect(store.reads).toBe(1);
    clock.time += 60_001;
    await expect(look(["t1"])).rejects.toThrow(
      "tasks of another server cannot be opened",
    );
    expect(store.reads).toBe(2);
  });
});

/**
 * A takeover whose looks find the given tasks, in a store that cannot read them
 * while it has a problem.
 */
function readingTasks() {
  const store = new FailingStore();
  const registry = new OpenTasks({
    store,
    createExecutor: unused,
    now: () => new Date(),
  });
  const clock = { time: 0 };
  let found: readonly string[] = [];
  const leftOut: (readonly string[])[] = [];
  const takeover = new Takeover({
    registry,
    shared: {
      leases: {
        create: unused,
        acquire: unused,
        announce: unused,
        giveUp: unused,
        orphaned: async (_unreachable, failed = []) => {
          leftOut.push(failed);
          return found;
        },
      },
      changes: {
        watch: unused,
        watchAll: unused,
        watchDeleted: unused,
        watchGivenUp: unused,
      },
    },
    clock: { now: () => clock.time, sleep: unused },
    onError: unused,
    onNotice: unused,
  });
  const look = (taskIds: readonly string[]): Promise<void> => {
    found = taskIds;
    return takeover.run(new AbortController().signal);
  };
  return { store, clock, look, leftOut };
}

/** A store without tasks, which counts how often one is read. */
class FailingStore extends MemoryTaskStore {
  reads = 0;
  problem: DevtoolError | undefined;

  override async *readEvents(
    ...of: Parameters<MemoryTaskStore["readEvents"]>
  ): AsyncIterable<TaskEvent> {
    this.reads++;
    if (this.problem) throw this.problem;
    yield* super.readEvents(...of);
  }
}
