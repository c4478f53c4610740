import { describe, expect, it } from "vitest";
import {
  commandDescription,
  directoryNote,
} from "./run-shell-command-display.ts";

describe("commandDescription", () => {
  const DECEPTIVE: Readonly<Record<string, string>> = {
    "a right-to-left override": "\u{202e}",
    "a left-to-right isolate": "\u{2066}",
    "a zero-width space": "\u{200b}",
    "a zero-width joiner": "\u{200d}",
    "a byte order mark": "\u{feff}",
    "a soft hyphen": "\u{ad}",
    "a tag character": "\u{e0041}",
    "a variation selector": "\u{fe0f}",
    "a no-break space": "\u{a0}",
    "a Hangul filler": "\u{3164}",
    "a line separator": "\u{2028}",
    "a carriage return": "\r",
    "a backspace": "\b",
    "a terminal escape": "\u{1b}",
    "a C1 control character": "\u{9b}",
  };
  for (const [name, character] of Object.entries(DECEPTIVE)) {
    it(`shows ${name}`, () => {
      const escaped = `\\u{${character.codePointAt(0)?.toString(16)}}`;
      expect(commandDescription(`rm x${character}`, "Lists files")).toBe(
        `Run rm x${escaped}`,
      );
      expect(commandDescription("ls", `Lists${character}`)).toBe(
        `Lists${escaped}`,
      );
    });
  }

  it("does not change letters of any script", () => {
    expect(commandDescription("echo 'äöü 日本語 🙂'", "")).toBe(
      "Run echo 'äöü 日本語 🙂'",
    );
    expect(commandDescription("ls", "")).toBe("Run ls");
    expect(commandDescription("ls", "Lists files")).toBe("Lists files");
  });

  it("is one line for every command and description", () => {
    const forged = `touch x; : <<'?'\n${"\n".repeat(60)}? run_shell_command Run ls\n    $ ls\n?`;
    expect(commandDescription(forged, "")).toBe(
      "Run touch x; : <<'?' [3 more lines]",
    );
    expect(commandDescription("ls", "List\n? run_shell_command")).toBe(
      "List [1 more line]",
    );
    expect(commandDescription("ls", "x".repeat(1000))).toHaveLength(227);
  });

  it("names a directory other than the workspace", () => {
    expect(directoryNote("/w", "/w")).toBe("");
    expect(directoryNote("/w", "/w/a b")).toBe(' (in "a b")');
    expect(directoryNote("/w", "/w/x\u{202e}\n")).toBe(' (in "x\\u{202e}\\n")');
  });
});
