import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { roundsOf } from "../../../test/depth.ts";
import { keepEnd, keepStart, shorten } from "./cut-text.ts";

describe("cutting a text", () => {
  it("B3: leaves no half of a character, and keeps all that fits", () => {
    const text = fc.string({ unit: "binary", maxLength: 40 });
    const limit = fc.integer({ min: 0, max: 50 });
    fc.assert(
      fc.property(text, limit, (whole, maxLength) => {
        for (const kept of [
          keepStart(whole, maxLength),
          keepEnd(whole, maxLength),
        ]) {
          expect(kept.isWellFormed()).toBe(true);
          expect(kept.length).toBeLessThanOrEqual(maxLength);
          expect(kept.length).toBeGreaterThanOrEqual(
            Math.min(whole.length, maxLength - 1),
          );
        }
        expect(whole.startsWith(keepStart(whole, maxLength))).toBe(true);
        expect(whole.endsWith(keepEnd(whole, maxLength))).toBe(true);
        expect(shorten(whole, maxLength + 1).isWellFormed()).toBe(true);
      }),
      {
        numRuns: roundsOf("DEVTOOL_CUTS", {
          quick: 200,
          ci: 500,
          deep: 10_000,
        }),
      },
    );
  });
});
