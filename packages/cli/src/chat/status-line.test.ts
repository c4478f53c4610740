import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { UsageSchema } from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { contextLeftOf, gitBranch, statusLine } from "./status-line.ts";

const STATUS = {
  mode: "plan",
  model: "tiny",
  agent: "devtool",
  workspace: "/srv/work",
  branch: "main",
  editor: "VS Code",
  sentTokens: 12_345n,
  contextLeft: 87,
};

describe("the status line", () => {
  it.each([
    [
      110,
      "devtool · tiny · /srv/work · ⎇ main · editor VS Code · plan · context 87 % left · 12.3k tokens sent",
    ],
    [
      92,
      "tiny · /srv/work · ⎇ main · editor VS Code · plan · context 87 % left · 12.3k tokens sent",
    ],
    [
      77,
      "tiny · /srv/work · ⎇ main · plan · context 87 % left · 12.3k tokens sent",
    ],
    [56, "tiny · plan · context 87 % left · 12.3k tokens sent"],
    [34, "tiny · plan · context 87 % left"],
    [11, "tiny · plan"],
    [4, "plan"],
  ])("leaves out what does not fit into %d columns", (columns, line) => {
    expect(statusLine(STATUS, columns)).toBe(line);
  });

  it("shows what would change the terminal", () => {
    expect(
      statusLine(
        { ...STATUS, branch: "a\u001b[2J", agent: "b\nc", editor: "\u202ed" },
        200,
      ),
    ).toBe(
      "b [1 more line] · tiny · /srv/work · ⎇ a\\u{1b}[2J · editor \\u{202e}d · plan · context 87 % left · 12.3k tokens sent",
    );
  });

  it.each([
    [undefined, 0n, 1000n],
    [undefined, 10n, 0n],
    [100, 1n, 1_000_000n],
    [75, 250n, 1000n],
    [0, 1200n, 1000n],
  ])(
    "says that %s percent of the context are free",
    (left, contextTokens, contextWindowTokens) => {
      expect(
        contextLeftOf(
          create(UsageSchema, { contextTokens, contextWindowTokens }),
        ),
      ).toBe(left);
      expect(
        statusLine({ ...STATUS, contextLeft: left }, 200).includes("% left"),
      ).toBe(left !== undefined);
    },
  );

  it("finds the branch above a directory, and of a worktree", async () => {
    const root = temporaryDirectory();
    await mkdir(join(root, "src"));
    putFile(root, ".git/HEAD", "ref: refs/heads/feature/x\n");
    putFile(root, ".git/worktrees/w/HEAD", "0123456789abcdef\n");
    putFile(root, "w/.git", `gitdir: ${root}/.git/worktrees/w\n`);
    expect(await gitBranch(join(root, "src"))).toBe("feature/x");
    expect(await gitBranch(join(root, "w"))).toBe("01234567");
  });
});
