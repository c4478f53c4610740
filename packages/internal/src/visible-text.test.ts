import { describe, expect, it } from "vitest";
import {
  foldLines,
  oneLine,
  quotedLines,
  visibleText,
} from "./visible-text.ts";

describe("visible text", () => {
  const deceiving: Readonly<Record<string, string>> = {
    "text that runs from right to left": "\u{202e}",
    "a space of no width": "\u{200b}",
    "a joiner of no width": "\u{200d}",
    "a variation": "\u{fe0f}",
    "a space that does not break": "\u{a0}",
    "a separator of lines": "\u{2028}",
    "a carriage return": "\r",
    "an escape of the terminal": "\u{1b}",
    "a control character of eight bits": "\u{9b}",
  };
  for (const [name, character] of Object.entries(deceiving)) {
    it(`shows ${name}`, () => {
      expect(visibleText(`ls ${character}x`)).toBe(
        `ls \\u{${character.codePointAt(0)?.toString(16)}}x`,
      );
    });
  }

  it("keeps letters of all scripts, line breaks and tabs", () => {
    for (const text of ["echo 'äöü 日本語 🙂'", "a\n\tb"]) {
      expect(visibleText(text)).toBe(text);
    }
  });
});

describe("text on one line", () => {
  it("is the first line, and the number of further lines", () => {
    expect(oneLine("ls -l")).toBe("ls -l");
    expect(oneLine("\n  touch x\n\n? Run ls\n$ ls\n")).toBe(
      "touch x [2 more lines]",
    );
    expect(oneLine("")).toBe("");
  });

  it("has no run of spaces that would push its end out of sight", () => {
    expect(oneLine(`ls ${" ".repeat(500)}\t; rm x`)).toBe("ls ; rm x");
    expect(oneLine(`a${"x".repeat(5000)}z`)).toMatch(
      /^ax{666} … \[4002 more characters\] … x{332}z$/,
    );
  });
});

describe("folded lines", () => {
  it("keep the first and the last lines", () => {
    const lines = Array.from({ length: 10 }, (_, line) => `${line}`);
    expect(foldLines(lines, 10)).toEqual({ first: lines, hidden: 0, last: [] });
    expect(foldLines(lines, 6)).toEqual({
      first: ["0", "1", "2", "3"],
      hidden: 4,
      last: ["8", "9"],
    });
  });
});

describe("quoted lines", () => {
  it("have a mark in front of each, and another where lines were removed", () => {
    expect(quotedLines("a\n? Run ls\n", 9)).toBe("│ a\n│ ? Run ls");
    expect(quotedLines("1\n2\n3\n4\n5", 3)).toBe(
      "│ 1\n│ 2\n⋮ [2 more lines]\n│ 5",
    );
    expect(quotedLines("a\r\u{85}b", 9)).toBe("│ a\\u{d}\\u{85}b");
  });
});
