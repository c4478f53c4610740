import { describe, expect, it } from "vitest";
import { Semaphore } from "./semaphore.ts";

describe("a semaphore", () => {
  const never = new AbortController().signal;

  it("admits up to its limit, and the next holder when one leaves", async () => {
    const semaphore = new Semaphore(2);
    const [first, second] = [
      await semaphore.acquire(never),
      await semaphore.acquire(never),
    ];
    const order: string[] = [];
    const turnOf = async (name: string): Promise<Disposable> => {
      const turn = await semaphore.acquire(never);
      order.push(name);
      return turn;
    };
    const third = turnOf("third");
    const fourth = turnOf("fourth");
    await new Promise((resolve) => setImmediate(resolve));
    expect(order).toEqual([]);
    first[Symbol.dispose]();
    (await third)[Symbol.dispose]();
    second[Symbol.dispose]();
    await fourth;
    expect(order).toEqual(["third", "fourth"]);
  });

  it("loses no turn when a waiting holder aborts", async () => {
    const semaphore = new Semaphore(1);
    const first = await semaphore.acquire(never);
    const gone = new AbortController();
    const second = semaphore.acquire(gone.signal);
    const third = semaphore.acquire(never);
    gone.abort(new Error("gone"));
    await expect(second).rejects.toThrow("gone");
    first[Symbol.dispose]();
    await third;
  });
});
