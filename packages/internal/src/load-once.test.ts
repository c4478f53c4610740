import { describe, expect, it } from "vitest";
import { loadOnce } from "./load-once.ts";

describe("loadOnce", () => {
  it("loads once for all calls, at the first of them", async () => {
    let loads = 0;
    const load = loadOnce(async () => ++loads);
    expect(loads).toBe(0);
    expect(await Promise.all([load(), load()])).toEqual([1, 1]);
    expect(await load()).toBe(1);
  });

  it("tries a load that failed again", async () => {
    let loads = 0;
    const load = loadOnce(async () => {
      if (++loads === 1) throw new Error("too many open files");
      return loads;
    });
    const both = await Promise.allSettled([load(), load()]);
    expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(await load()).toBe(2);
  });
});
