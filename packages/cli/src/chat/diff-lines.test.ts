import { describe, expect, it } from "vitest";
import type { Paint } from "../render/style.ts";
import { diffLines } from "./diff-lines.ts";
import { frameLines } from "./framed-lines.ts";

const marked: Paint = (look, text) => `<${look}>${text}</>`;
const plain: Paint = (_look, text) => text;

describe("a diff", () => {
  it("marks the words that differ", () => {
    expect(
      diffLines("@@ -1 +1 @@\n-let a = 1;\n+let b = 1;\n same\n", marked),
    ).toEqual([
      "<dim>@@ -1 +1 @@</>",
      "<removed>-</><removed>let </><removed><changed>a</></><removed> = 1;</>",
      "<added>+</><added>let </><added><changed>b</></><added> = 1;</>",
      " same",
    ]);
  });

  it("marks no words of lines that have nothing in common, nor of lines that do not pair", () => {
    expect(diffLines("-one\n+two", marked)).toEqual([
      "<removed>-one</>",
      "<added>+two</>",
    ]);
    expect(diffLines("-one two\n+one\n+two", marked)).toEqual([
      "<removed>-one two</>",
      "<added>+one</>",
      "<added>+two</>",
    ]);
  });

  it("has the same text with and without marks", () => {
    const diff =
      "@@ -1,3 +1,3 @@\n a\n-one two three\n+one 2 three\n-x\n\\ No newline at end of file";
    expect(diffLines(diff, plain).join("\n")).toBe(diff);
  });

  it("shows what cannot be seen", () => {
    expect(diffLines("+a\u202eb\u001b[2J", plain)).toEqual([
      "+a\\u{202e}b\\u{1b}[2J",
    ]);
  });
});

describe("framed lines", () => {
  it("have a gutter each, also where they are broken, and are folded in the middle", () => {
    expect(
      frameLines(["abcdefghijkl", "x", "y", "z"], { columns: 14, maxLines: 3 }),
    ).toEqual(["  │ abcdefghij", "  ┊ kl", "  ⋮ [2 more lines]", "  │ z"]);
  });
});
