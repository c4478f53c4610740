import { describe, expect, it } from "vitest";
import { ListCache } from "./list-cache.ts";

describe("ListCache", () => {
  it("loads once, and once more after any number of changes", async () => {
    const cache = new ListCache<number>();
    let asked = 0;
    const load = async () => [++asked];
    expect([await cache.get(load), await cache.get(load)]).toEqual([[1], [1]]);
    for (let times = 0; times < 7; times++) cache.invalidate();
    expect([await cache.get(load), await cache.get(load)]).toEqual([[2], [2]]);
  });

  it("does not cache a list that changed while it was being loaded", async () => {
    const cache = new ListCache<string>();
    const first = await cache.get(async () => {
      cache.invalidate();
      return ["old"];
    });
    expect([first, await cache.get(async () => ["new"])]).toEqual([
      ["old"],
      ["new"],
    ]);
  });
});
