import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assertBudget, assertJsonBudget } from "./json-budget.ts";

describe("the budget of a document", () => {
  it("is the same for its text and for the parsed value", () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 0, max: 4 }),
        (text, maxNodes, maxDepth) => {
          const limits = { maxBytes: 1_000, maxDepth, maxNodes };
          const refuses = (run: () => void): boolean => {
            try {
              run();
              return false;
            } catch {
              return true;
            }
          };
          expect(refuses(() => assertJsonBudget(text, limits))).toBe(
            refuses(() => assertBudget(JSON.parse(text), limits)),
          );
        },
      ),
      { seed: 7, numRuns: 2_000 },
    );
  });

  it.each([
    ['"[[[,,,{\\"[,"', 1],
    [" [ ] ", 1],
    ['{"a":[1,{}],"b":"\\\\"}', 5],
  ])("counts the values of %s", (text, count) => {
    const limits = { maxBytes: 1_000, maxDepth: 9 };
    expect(() =>
      assertJsonBudget(text, { ...limits, maxNodes: count }),
    ).not.toThrow();
    expect(() =>
      assertJsonBudget(text, { ...limits, maxNodes: count - 1 }),
    ).toThrow(/more than \d+ values/);
  });
});
