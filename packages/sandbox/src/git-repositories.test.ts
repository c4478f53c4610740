import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { findGitlinks } from "./git-index.ts";
import { repositoryPaths } from "./git-repositories.ts";
import { readGuardedPlaces } from "./guarded-places.ts";
import type { GuardedPlaces } from "./sandbox.ts";
import { isGrantable } from "./workspace-mounts.ts";

const SHA = "1234567890123456789012345678901234567890";

describe("the repositories of a hostile workspace", () => {
  let workspace: string;
  beforeEach(() => {
    workspace = temporaryDirectory();
    git("init", "-q");
  });

  it("are none outside of it, whatever its index names", async () => {
    const outside = [
      "../home/project",
      "/home/project",
      "a/../../home/project",
      "./../x",
      "a//b",
      "..",
    ];
    putFile(workspace, ".git/index", indexOf(...outside, "sub"));
    expect(await findGitlinks(workspace)).toEqual(["sub"]);
    expect((await guarded()).missing).toContain(join(workspace, "sub"));
  });

  it("are not waited for where the index or a .git file is a pipe", async () => {
    rmSync(join(workspace, ".git"), { recursive: true });
    mkdirSync(join(workspace, ".git/sub"), { recursive: true });
    for (const name of [".git/index", ".git/config"]) {
      execFileSync("mkfifo", [join(workspace, name)]);
    }
    expect(await repositoryPaths(workspace)).toEqual([]);
    rmSync(join(workspace, ".git/index"));
    putFile(workspace, ".git/index", indexOf("sub"));
    mkdirSync(join(workspace, "sub"));
    execFileSync("mkfifo", [join(workspace, "sub/.git")]);
    expect(await repositoryPaths(workspace)).toEqual([
      join(workspace, "sub/.git"),
    ]);
  });

  it("are not guessed where a split index replaces an entry", async () => {
    putFile(workspace, "sub", "");
    git("add", "sub");
    git("update-index", "--split-index");
    const index = readFileSync(join(workspace, ".git/index"));
    const nameless = Buffer.concat([
      indexOf("").subarray(0, -20),
      index.subarray(12),
    ]);
    nameless.writeUInt32BE(1 + index.readUInt32BE(8), 8);
    putFile(workspace, ".git/index", nameless);
    await expect(findGitlinks(workspace)).rejects.toThrow(
      "is split: run git update-index --no-split-index",
    );
  });

  it("cannot be confined where a name of theirs is not UTF-8", async () => {
    putFile(workspace, ".git/index", indexOf(Buffer.from([0x73, 0xff])));
    await expect(findGitlinks(workspace)).rejects.toThrow("not UTF-8");
  });

  it("are read as far as they go where the index breaks off", async () => {
    putFile(workspace, ".git/index", indexOf("a", "b").subarray(0, 100));
    expect(await findGitlinks(workspace)).toEqual(["a"]);
    putFile(workspace, ".git/index", indexOf("a", "b".repeat(5000)));
    expect(await findGitlinks(workspace)).toEqual(["a"]);
  });

  it("are only read where a .git file names them in the workspace", async () => {
    renameSync(join(workspace, ".git"), join(workspace, "store"));
    putFile(workspace, ".git", "gitdir: store\n");
    expect((await guarded()).present).toContain(join(workspace, "store"));
    expect(
      isGrantable(join(workspace, "store/config"), await guarded(), []),
    ).toBe(false);
    renameSync(join(workspace, "store"), join(workspace, "other"));
    expect((await guarded()).missing).toContain(join(workspace, "store"));
    symlinkSync("other", join(workspace, "store"));
    await expect(guarded()).rejects.toThrow("goes through a link");
  });

  it("are only read where the .git file of a gitlink names them", async () => {
    execFileSync("git", [
      "init",
      "-q",
      "--separate-git-dir",
      join(workspace, "store"),
      join(workspace, "sub"),
    ]);
    git("update-index", "--add", "--cacheinfo", `160000,${SHA},sub`);
    expect((await guarded()).present).toContain(join(workspace, "store"));
  });

  it("leave submodules to be written with .git granted", async () => {
    mkdirSync(join(workspace, ".git/modules/sub"), { recursive: true });
    putFile(workspace, "sub/.git", "gitdir: ../.git/modules/sub\n");
    git("update-index", "--add", "--cacheinfo", `160000,${SHA},sub`);
    expect(await repositoryPaths(workspace)).toEqual([
      join(workspace, "sub/.git"),
    ]);
  });

  function git(...args: string[]): void {
    execFileSync("git", args, { cwd: workspace });
  }

  function guarded(): Promise<GuardedPlaces> {
    return readGuardedPlaces(workspace, "write");
  }
});

/**
 * An index of version 2 whose entries are gitlinks, also of names that git
 * would not add.
 */
function indexOf(...names: readonly (string | Buffer)[]): Buffer {
  const header = Buffer.from("DIRC\0\0\0\u0002\0\0\0\0", "latin1");
  header.writeUInt32BE(names.length, 8);
  const entries = names.map((name) => {
    const bytes = Buffer.from(name);
    const entry = Buffer.alloc(Math.ceil((62 + bytes.length + 1) / 8) * 8);
    entry.writeUInt32BE(0o160000, 24);
    entry.fill(1, 40, 60);
    bytes.copy(entry, 62);
    return entry;
  });
  return Buffer.concat([header, ...entries, Buffer.alloc(20)]);
}
