import fc from "fast-check";
import picomatch from "picomatch";
import { describe, expect, it } from "vitest";
import { roundsOf } from "../../../../../test/depth.ts";
import { compileGlob } from "./glob-pattern.ts";

const PATHS = roundsOf("DEVTOOL_GLOB_PATHS", {
  quick: 2_000,
  ci: 20_000,
  deep: 200_000,
});

describe("compileGlob", () => {
  it("matches the same paths as picomatch", {
    timeout: 180_000 + 5 * PATHS,
  }, () => {
    fc.assert(
      fc.property(glob(), path(), (pattern, file) => {
        // For picomatch, `a/**` also matches a file named `a`.
        fc.pre(
          !pattern.endsWith("/**") ||
            !picomatch.isMatch(file, pattern.slice(0, -"/**".length), {
              dot: true,
            }),
        );
        expect(
          compileGlob("pattern", pattern)(file),
          `${pattern} for ${file}`,
        ).toBe(picomatch(pattern, { dot: true })(file));
      }),
      { numRuns: PATHS, seed: 7 },
    );
  });

  it.each([
    ["src/**/*.ts", "src/a.ts", true],
    ["src/**", "src/a/b.ts", true],
    ["./src/*.ts", "src/a.ts", true],
    ["*.ts", "src/a.ts", false],
    ["[!a]b", "/b", false],
    ["\\*", "*", true],
    ["\\*", "a", false],
    ["a,b", "a,b", true],
    ["a}", "a}", true],
    ["[a^]", "^", true],
    ["a.c", "abc", false],
    ["**", "a\nb", true],
    ["[[]id[]]", "[id]", true],
    ["[]a]", "]", true],
    ["[!]a]", "]", false],
    ["[]", "[]", true],
  ])("%s for %s", (pattern, file, matches) => {
    expect(compileGlob("pattern", pattern)(file)).toBe(matches);
  });

  it.each([
    ["{a", 'pattern "{a" is not a valid glob pattern: close each brace'],
    ["[z-a]", 'pattern "[z-a]" is not a valid glob pattern'],
    ["", "pattern has 0 or over 1000 characters"],
  ])("that cannot be used, %s, is named", (pattern, problem) => {
    expect(() => compileGlob("pattern", pattern)).toThrow(problem);
  });
});

function glob(): fc.Arbitrary<string> {
  const piece = fc.constantFrom(
    "a",
    "b",
    ".",
    "*",
    "?",
    "[ab]",
    "[^a]",
    "[a-c]",
    "{a,b}",
    "{a*,b?}",
    "*.ts",
  );
  const segment = fc.oneof(
    fc.constant("**"),
    fc
      .array(piece, { minLength: 1, maxLength: 3 })
      .map((all) => all.join(""))
      .filter((text) => !/^\.+$/.test(text)),
  );
  return fc
    .array(segment, { minLength: 1, maxLength: 4 })
    .map((all) =>
      all.join("/").replaceAll(/\*{2,}(?=[^/])|(?<=[^/])\*{2,}/g, "*"),
    );
}

function path(): fc.Arbitrary<string> {
  const name = fc.string({
    unit: fc.constantFrom("a", "b", "c", "d"),
    minLength: 1,
    maxLength: 3,
  });
  const file = fc
    .tuple(name, fc.constantFrom("", ".ts", ".a"))
    .map((all) => all.join(""));
  return fc
    .tuple(fc.array(name, { maxLength: 3 }), file)
    .map(([folders, last]) => [...folders, last].join("/"));
}
