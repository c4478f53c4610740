import { describe, expect, it } from "vitest";
import { commandDescription, visibleText } from "./run-shell-command-display.ts";

describe("what is shown of a command", () => {
  const deceiving: Readonly<Record<string, string>> = {
    "text that runs from right to left": "\u{202e}",
    "an isolate": "\u{2066}",
    "a space of no width": "\u{200b}",
    "a joiner of no width": "\u{200d}",
    "a mark of byte order": "\u{feff}",
    "a soft hyphen": "\u{ad}",
    "a tag": "\u{e0041}",
    "a variation": "\u{fe0f}",
    "a space that does not break": "\u{a0}",
    "a filler of Hangul": "\u{3164}",
    "a separator of lines": "\u{2028}",
    "a carriage return": "\r",
    "a backspace": "\b",
    "an escape of the terminal": "\u{1b}",
    "a control character of eight bits": "\u{9b}",
  };
  for (const [name, character] of Object.entries(deceiving)) {
    it(`shows ${name}`, () => {
      const escaped = `\\u{${character.codePointAt(0)?.toString(16)}}`;
      expect(visibleText(`ls ${character}x`)).toBe(`ls ${escaped}x`);
      expect(commandDescription(`rm x${character}`, "Lists files")).toBe(`Run rm x${escaped}`);
      expect(commandDescription("ls", `Lists${character}`)).toBe(`Lists${escaped}`);
    });
  }

  it("leaves what shows as itself: letters of all scripts, line breaks, tabs", () => {
    for (const text of ["echo 'äöü 日本語 🙂'", "a\n\tb"]) expect(visibleText(text)).toBe(text);
    expect(commandDescription("ls", "")).toBe("Run ls");
    expect(commandDescription("ls", "Lists files")).toBe("Lists files");
  });
});
