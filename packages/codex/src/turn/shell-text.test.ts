import { describe, expect, it } from "vitest";
import { scriptOf } from "./shell-text.ts";

describe("the command that a question of Codex shows", () => {
  it.each([
    "/bin/bash -lc ls",
    "bash -c 'ls'",
    "/usr/bin/zsh -lc ls",
    "/usr/local/bin/bash -lc 'ls'",
  ])("is the script of a shell of the system: %s", (command) =>
    expect(scriptOf(command)).toBe("ls"),
  );

  it.each([
    "/workspace/bin/bash -lc ls",
    "/usr/bin/../../workspace/sh -c 'ls'",
    "./bash -c ls",
    "bash -lc 'ls' x",
  ])(
    "is the whole command where another program runs, which may only have a shell's name: %s",
    (command) => expect(scriptOf(command)).toBe(command),
  );
});
