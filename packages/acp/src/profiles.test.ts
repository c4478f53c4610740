import { describe, expect, it } from "vitest";
import { ACP_PROFILES, commandWords, findAcpProfile } from "./profiles.ts";

describe("a profile", () => {
  it("has a name that a command line can hold, once", () => {
    const names = ACP_PROFILES.map(({ name }) => name);
    expect(names).toEqual([
      "gemini",
      "codex-acp",
      "opencode",
      "qwen",
      "vibe",
      "claude",
    ]);
    expect(names.every((name) => /^[a-z-]+$/.test(name))).toBe(true);
  });

  it("is found by its name only", () => {
    expect(findAcpProfile("gemini")).toMatchObject({
      program: "gemini",
      args: ["--acp"],
    });
    expect(findAcpProfile("Gemini CLI")).toBeUndefined();
    expect(findAcpProfile("toString")).toBeUndefined();
  });

  it("names a program and not a path, so that it is looked up where programs may be", () => {
    expect(ACP_PROFILES.filter(({ program }) => program.includes("/"))).toEqual(
      [],
    );
  });
});

describe("a command line", () => {
  it.each([
    ["agent", ["agent"]],
    ["  agent  --acp ", ["agent", "--acp"]],
    [
      `agent 'two words' "and \\"these\\"" three\\ more`,
      ["agent", "two words", 'and "these"', "three more"],
    ],
    [`a"b c"'d e'f`, ["ab cd ef"]],
    ["agent $HOME `id` *", ["agent", "$HOME", "`id`", "*"]],
    [`agent ""`, ["agent", ""]],
    ["agent a\\nb", ["agent", "anb"]],
    [`agent "a\\nb"`, ["agent", "a\\nb"]],
  ])("%s becomes words, and nothing is expanded", (line, words) => {
    expect(commandWords(line)).toEqual(words);
  });

  it.each([
    [""],
    ["  "],
    ["agent 'open"],
    ['agent "open'],
    ["agent \\"],
    ["''"],
  ])("%j is refused", (line) => {
    expect(commandWords(line)).toEqual([]);
  });

  it("of a million characters is parsed at once", () => {
    expect(commandWords(`agent ${"a b ".repeat(250_000)}`)).toHaveLength(
      500_001,
    );
    expect(commandWords(`agent '${"a".repeat(1_000_000)}`)).toEqual([]);
  });
});
