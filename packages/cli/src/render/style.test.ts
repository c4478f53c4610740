import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { paintFor, visible } from "./style.ts";

describe("visible", () => {
  const cases = [
    {
      what: "keeps words, lines and tabs",
      text: "Größe 寸法 🎉\n\tx",
      shown: "Größe 寸法 🎉\n\tx",
    },
    {
      what: "shows what would clear a line",
      text: "ok\u001b[2K\rbad",
      shown: "ok\\u{1b}[2K\\u{d}bad",
    },
    {
      what: "shows what would set the window's title",
      text: "\u009d0;x\u0007",
      shown: "\\u{9d}0;x\\u{7}",
    },
    {
      what: "shows what would reorder characters",
      text: "a\u202eb\u2066c",
      shown: "a\\u{202e}b\\u{2066}c",
    },
    {
      what: "shows what cannot be seen",
      text: "rm\u200b -rf\u2028/",
      shown: "rm\\u{200b} -rf\\u{2028}/",
    },
  ];
  cases.push(
    {
      what: "keeps emoji of several characters",
      text: "👩‍👩‍👧 🏳️‍🌈 🧑🏽‍🚀",
      shown: "👩‍👩‍👧 🏳️‍🌈 🧑🏽‍🚀",
    },
    {
      what: "keeps joiners between letters that need them",
      text: "می‌خواهم ක්‍ෂ",
      shown: "می‌خواهم ක්‍ෂ",
    },
    {
      what: "shows a joiner elsewhere",
      text: "r\u200dm 👩\u200d x\u200c",
      shown: "r\\u{200d}m 👩\\u{200d} x\\u{200c}",
    },
  );
  for (const { what, text, shown } of cases) {
    it(what, () => {
      expect(visible(text)).toBe(shown);
    });
  }
});

describe("paintFor", () => {
  it("colours for a person alone, who did not forbid it", () => {
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    const stdout = new PassThrough();
    expect(paintFor({ stdout, env: {} }, terminal)("good", "x")).toBe(
      "\u001b[32mx\u001b[39m",
    );
    expect(
      paintFor({ stdout, env: { NO_COLOR: "1" } }, terminal)("good", "x"),
    ).toBe("x");
    expect(
      paintFor({ stdout, env: { TERM: "dumb" } }, terminal)("good", "x"),
    ).toBe("x");
    expect(paintFor({ stdout, env: {} })("good", "x")).toBe("x");
  });
});
