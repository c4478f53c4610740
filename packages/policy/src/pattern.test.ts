import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compilePattern, MAX_SEARCHED_LENGTH } from "./pattern.ts";

describe("a pattern of a rule", () => {
  it("matches what JavaScript's own patterns match", () => {
    fc.assert(
      fc.property(
        pattern(),
        fc.string({
          unit: fc.constantFrom("a", "b", "c", "1", " ", "\n", "."),
        }),
        (text, searched) => {
          expect(
            compilePattern(text).occursIn(searched),
            `/${text}/ in ${JSON.stringify(searched)}`,
          ).toBe(new RegExp(text, "u").test(searched));
        },
      ),
      { numRuns: 3000 },
    );
  });

  it("takes linear time for patterns that make a backtracking engine hang", () => {
    const text = `${"a".repeat(5000)}!`;
    // A backtracking engine would exceed the test's timeout by far.
    for (const evil of [
      "^(a+)+$",
      "^(a|a)*$",
      "^(a|aa)+$",
      "(a*)*b",
      "^(([a-z])+.)+[A-Z]([a-z])+$",
    ]) {
      expect(compilePattern(evil).occursIn(text)).toBe(false);
    }
  });

  it("does not search a text that is too long", () => {
    expect(
      compilePattern("a").occursIn("a".repeat(MAX_SEARCHED_LENGTH + 1)),
    ).toBeUndefined();
  });

  it("follows RE2: \\s is ASCII white space, and . is any character but a newline", () => {
    expect(compilePattern("a\\sb").occursIn("a\u00a0b")).toBe(false);
    expect(compilePattern("a.b").occursIn("a\rb")).toBe(true);
    expect(compilePattern("a.b").occursIn("a\nb")).toBe(false);
  });

  it("matches only the whole text if so compiled", () => {
    expect(compilePattern("a|b", "whole").occursIn("ab")).toBe(false);
    expect(compilePattern("a|b", "whole").occursIn("b")).toBe(true);
    expect(compilePattern("a|ab", "whole").occursIn("ab")).toBe(true);
    expect(compilePattern("(?m)^a$", "whole").occursIn("a\nb")).toBe(false);
  });

  it.each([
    ["(a", "missing closing )"],
    ["a)", "unexpected )"],
    ["(?=a)", "invalid or unsupported Perl syntax: `(?=`"],
    ["(a)\\1", "invalid escape sequence: `\\1`"],
    ["*a", "missing argument to repetition operator: `*`"],
    ["[a", "missing closing ]: `[a`"],
    ["((a{100}){100}){100}", "invalid repeat count"],
    ["(a{25}){25}", 'pattern "(a{25}){25}" is too large: use lower counts'],
    ["a".repeat(513), "has 513 characters: the limit is 512"],
  ])("refuses %s with the reason", (text, problem) => {
    expect(() => compilePattern(text)).toThrow(problem);
  });
});

/** Patterns with every supported construct. */
function pattern(): fc.Arbitrary<string> {
  const { node } = fc.letrec<{ node: string; atom: string }>((tie) => ({
    atom: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(
        "a",
        "b",
        ".",
        "\\.",
        "\\d",
        "\\s",
        "\\W",
        "[ab]",
        "[^a]",
        "[a-c1]",
        "[\\d ]",
        "\\n",
      ),
      fc.constantFrom("^", "$"),
      tie("node").map((text) => `(${text})`),
      tie("node").map((text) => `(?:${text})`),
    ),
    node: fc.oneof(
      { depthSize: "small" },
      tie("atom"),
      fc
        .tuple(
          tie("atom"),
          fc.constantFrom("*", "+", "?", "{2}", "{1,}", "{0,2}", "*?"),
        )
        .map(([atom, count]) =>
          atom === "^" || atom === "$" ? atom : `${atom}${count}`,
        ),
      fc.tuple(tie("node"), tie("node")).map((texts) => texts.join("")),
      fc.tuple(tie("node"), tie("node")).map((texts) => texts.join("|")),
    ),
  }));
  return node;
}
