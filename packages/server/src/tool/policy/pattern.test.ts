import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compilePattern, MAX_SEARCHED_LENGTH } from "./pattern.ts";

describe("a pattern of a rule", () => {
  it("finds what JavaScript's own patterns find", () => {
    fc.assert(
      fc.property(
        pattern(),
        fc.string({ unit: fc.constantFrom("a", "b", "c", "1", " ", "\n", ".") }),
        (text, searched) => {
          expect(compilePattern(text).occursIn(searched), `/${text}/ in ${JSON.stringify(searched)}`).toBe(
            new RegExp(text, "u").test(searched),
          );
        },
      ),
      { numRuns: 3000 },
    );
  });

  it("takes no longer for a pattern that makes others go back for ever", () => {
    const text = `${"a".repeat(5000)}!`;
    const started = performance.now();
    for (const evil of ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "(a*)*b", "^(([a-z])+.)+[A-Z]([a-z])+$"])
      expect(compilePattern(evil).occursIn(text)).toBe(false);
    expect(performance.now() - started).toBeLessThan(2000);
  });

  it("does not search a text that is too long, and says so", () => {
    expect(compilePattern("a").occursIn("a".repeat(MAX_SEARCHED_LENGTH + 1))).toBeUndefined();
  });

  it.each([
    ["(a", 'pattern "(a" has an open "(": close it'],
    ["a)", 'pattern "a)" has a ")" too many: write "\\)" for the character'],
    ["(?=a)", 'pattern "(?=a)" looks around or names a group: write a plain group'],
    ["(a)\\1", 'pattern "(a)\\\\1" has "\\1", which is not supported: choose \\d \\w \\s \\n \\t or a sign'],
    ["*a", 'pattern "*a" repeats nothing: put something before the sign'],
    ["[a", 'pattern "[a" has an open "[": close it'],
    ["a{101}", 'pattern "a{101}" has a count that is not between 0 and 100'],
    ["((a{100}){100}){100}", 'pattern "((a{100}){100}){100}" is too large: use lower counts'],
  ])("refuses %s and says why", (text, problem) => {
    expect(() => compilePattern(text)).toThrow(problem);
  });
});

/** Patterns of all that is supported. */
function pattern(): fc.Arbitrary<string> {
  const { node } = fc.letrec<{ node: string; atom: string }>((tie) => ({
    atom: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom("a", "b", ".", "\\.", "\\d", "\\s", "\\W", "[ab]", "[^a]", "[a-c1]", "[\\d ]", "\\n"),
      fc.constantFrom("^", "$"),
      tie("node").map((text) => `(${text})`),
      tie("node").map((text) => `(?:${text})`),
    ),
    node: fc.oneof(
      { depthSize: "small" },
      tie("atom"),
      fc
        .tuple(tie("atom"), fc.constantFrom("*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"))
        .map(([atom, count]) => (atom === "^" || atom === "$" ? atom : `${atom}${count}`)),
      fc.tuple(tie("node"), tie("node")).map((texts) => texts.join("")),
      fc.tuple(tie("node"), tie("node")).map((texts) => texts.join("|")),
    ),
  }));
  return node;
}
