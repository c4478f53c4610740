import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeAll, describe, expect, it } from "vitest";
import { parseGitConfig } from "./git-config-file.ts";

let directory: string;
beforeAll(() => {
  directory = temporaryDirectory();
});

/**
 * What git itself reads: `key=value` in order, keys without a value as `key`;
 * undefined for a file that it refuses.
 */
function readByGit(text: string): string[] | undefined {
  const path = join(directory, "config");
  writeFileSync(path, text);
  const { status, stdout } = spawnSync(
    "git",
    ["config", "--file", path, "--list", "-z"],
    { encoding: "utf8" },
  );
  if (status !== 0) return undefined;
  return stdout
    .split("\0")
    .slice(0, -1)
    .map((entry) => entry.replace("\n", "="));
}

function read(text: string): string[] | undefined {
  const { settings, brokenLine } = parseGitConfig(text);
  if (brokenLine !== undefined) return undefined;
  return settings.map(({ key, value }) =>
    value === undefined ? key : `${key}=${value}`,
  );
}

/** Each is read by git, too: what is expected is what git says. */
const FILES: readonly (readonly [name: string, text: string])[] = [
  ["a plain value", "[core]\n\tworktree = ../w\n"],
  ["other spellings of a section and a key", "[CoRe]\nWorkTree=../w\n"],
  ["a key in the line of its section", "[core]worktree=../w\n"],
  ["several sections in a line", "[a] [core] worktree = ../w\n"],
  ["a comment behind a value", "[core]\nworktree = ../w # not this\nx = a;b\n"],
  [
    "a comment in front of a key",
    "# [core]\n;worktree = no\n[core] # x\nworktree = ../w\n",
  ],
  ["quotes in a value", '[core]\nworktree = ../"my dir"/x\n'],
  ["a comment character in quotes", '[core]\nworktree = "../a#b;c" # d\n'],
  ["escapes", '[core]\nworktree = a\\\\b\\"c\\td\\ne\n'],
  ["a backspace", "[core]\nworktree = a\\bc\n"],
  ["a continued line", "[core]\nworktree = ../\\\n  w\\\nx\n"],
  ["a continued comment", "[core]\nworktree = a # b \\\nx = c\n"],
  [
    "a continued line with the ends of Windows",
    "[core]\r\nworktree = ../\\\r\nw\r\n",
  ],
  ["spaces around and in a value", "[core]\nworktree =   a b  c  \n"],
  ["quoted spaces at the end", '[core]\nworktree = "a  "  \n'],
  ["no value", "[core]\nworktree\n"],
  ["an empty value", "[core]\nworktree =\n"],
  ["a subsection", '[IncludeIf "gitdir:~/A \\"b\\\\"]\npath = x\n'],
  ["an escaped bracket in a subsection", '[a "b]\\c"]\nx = 1\n'],
  ["an old subsection", "[branch.Main]\nx = 1\n"],
  ["an empty subsection", '[core ""]\nworktree = x\n'],
  ["a key of another section", "[core]\n[other]\nworktree = x\n"],
  ["a byte order mark", "\ufeff[core]\nworktree = x\n"],
  ["no line end at the end", "[core]\nworktree = x"],
  ["a continued line at the end", "[core]\nworktree = x\\"],
  ["several values", "[core]\nworktree = a\nworktree = b\n"],
  ["an empty file", ""],
  ["a broken key", "[core]\nwork_tree = x\n"],
  ["a key that begins with a digit", "[core]\n1a = x\n"],
  ["a key without a section", "worktree = x\n"],
  ["a broken section", "[co re]\nworktree = x\n"],
  ["a space in front of a section's name", '[ core]\nworktree = x\n[ "x"]\n'],
  ["a section that does not end", "[core\nworktree = x\n"],
  ["a subsection that does not end", '[a "b\n"]\nworktree = x\n'],
  ["a quote that does not end", '[core]\nworktree = "x\n'],
  ["an unknown escape", "[core]\nworktree = a\\qb\n"],
  ["words behind a key", "[core]\nworktree x = y\n"],
  ["a carriage return alone", '[core]\nworktree = "a\rb"\r\n\rx = 1\n'],
  ["a vertical tab", "[core]\nworktree = a\vb\n"],
];

describe("a configuration file of git", () => {
  it.each(FILES)("has the settings that git reads: %s", (_, text) => {
    expect(read(text)).toEqual(readByGit(text));
  });

  it("has the settings that git reads, in a hundred files of random pieces", () => {
    const pieces = [
      "[core]",
      '[a "b"]',
      "worktree",
      "=",
      " ",
      "\n",
      "\\",
      '"',
      "#",
      ";",
      "x",
      "\r\n",
      "../w",
      "\\\n",
      "[",
      "]",
    ];
    let state = 7;
    const next = (limit: number): number => {
      state = (state * 1103515245 + 12345) % 2147483648;
      return Math.floor((state / 2147483648) * limit);
    };
    for (let round = 0; round < 100; round++) {
      const text = `[s]\nk = ${Array.from({ length: 1 + next(12) }, () => pieces[next(pieces.length)]).join("")}\n`;
      expect(read(text), JSON.stringify(text)).toEqual(readByGit(text));
    }
  });

  it("names the line that git cannot read, and keeps what stands before", () => {
    expect(parseGitConfig("[core]\nworktree = a\n\n?\n")).toEqual({
      settings: [{ key: "core.worktree", value: "a" }],
      brokenLine: 4,
    });
  });
});
