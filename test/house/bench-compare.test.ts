import { describe, expect, it } from "vitest";
import { allowedRatios, judge } from "../../bench/src/compare/verdict.ts";

describe("judge", () => {
  it.each([
    ["slower", [1.2, 1.3, 1.25, 1.15, 1.4, 1.2], 1.1],
    ["ok", [0.9, 1.05, 1, 0.98, 1.02, 1.09], 1.1],
    ["ok", [1.2, 1.3, 1.25, 1.15, 1.4, 1.2], 1.4],
    // Noise of a busy machine is not a slower server.
    ["not decided: too noisy", [0.8, 1.3, 1.3, 1.3, 1.3, 1.3], 1.1],
    ["not decided: too noisy", [1.5, 1.5, 1.5, 1.5, 1.5], 1.1],
    ["not decided: too noisy", [], 1.1],
    // Of nine rounds, one on each side may be an outlier.
    ["ok", [3, 1, 1, 1, 1, 1, 1, 1, 0.1], 1.1],
    ["slower", [0.1, 2, 2, 2, 2, 2, 2, 2, 9], 1.1],
  ])("says %s of %j where %d is allowed", (result, ratios, allowed) => {
    expect(judge(ratios, allowed).result).toBe(result);
  });
});

describe("allowedRatios", () => {
  const table = "| row | ratio | why |\n| --- | --- | --- |\n";
  const old = "| `start.cpu-ms` | 1.5 | paid before |\n";
  const price = "| `idle.mb`  | 1.2   | a cache |\n";

  it("allows what the base has not paid yet", () => {
    expect(allowedRatios(table + old + price, table + old)).toEqual(
      new Map([["idle.mb", 1.2]]),
    );
    expect(allowedRatios(table + old, table + old)).toEqual(new Map());
  });

  it("multiplies the prices of one row", () => {
    const other = "| `idle.mb` | 1.5 | another cache |\n";
    expect(allowedRatios(price + other, "").get("idle.mb")).toBeCloseTo(1.8);
  });

  it("refuses a ratio that is not a number above 1", () => {
    expect(() => allowedRatios("| `idle.mb` | cheap | - |", "")).toThrow(
      'ratio "cheap" of row "idle.mb" in bench/prices.md is not a number above 1',
    );
  });
});
