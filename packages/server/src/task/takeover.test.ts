import { describe, expect, it } from "vitest";
import { MemoryTaskStore } from "../store/memory-task-store.ts";
import { SessionRegistry } from "./session-registry.ts";
import { Takeover } from "./takeover.ts";

function unused(): never {
  throw new Error("nothing calls it here");
}

describe("Takeover", () => {
  it("looks at once when a server gives its tasks up, also when it does so during a look", async () => {
    await using store = new MemoryTaskStore();
    await using registry = new SessionRegistry({ store, createExecutor: unused, now: () => new Date() });
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
          watchLeft: (wake) => {
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
            signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          }),
      },
      onError: unused,
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
});
