import { execFileSync } from "node:child_process";
import { appendFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { runsRepositoryFilters } from "./repository-filters.ts";

const SHA = "1234567890123456789012345678901234567890";
const STATUS = ["git", "status", "--short"];

describe("runsRepositoryFilters", () => {
  let workspace: string;
  beforeEach(() => {
    workspace = temporaryDirectory();
    git("init", "-q");
  });

  it("is true for commands that compare files if the configuration includes other files", () => {
    expect(runsRepositoryFilters(STATUS, workspace)).toBe(false);
    appendFileSync(
      join(workspace, ".git/config"),
      "[include]\n\tpath = ../x\n",
    );
    expect(runsRepositoryFilters(STATUS, workspace)).toBe(true);
    expect(runsRepositoryFilters(["git", "log"], workspace)).toBe(false);
    expect(runsRepositoryFilters(["cat", "status"], workspace)).toBe(false);
  });

  it("is true for commands that compare files if the repository takes its configuration from elsewhere", () => {
    writeFileSync(join(workspace, ".git/commondir"), "../elsewhere\n");
    expect(runsRepositoryFilters(STATUS, workspace)).toBe(true);
  });

  it.each(["2", "3", "4"])(
    "is true for commands that compare files if there is a submodule, in an index of version %s",
    (version) => {
      for (const name of ["a", "some/long/name", "z"]) {
        addFile(name.replaceAll("/", "-"), 10);
      }
      git("update-index", "--index-version", version);
      expect(runsRepositoryFilters(STATUS, workspace)).toBe(false);
      git("update-index", "--add", "--cacheinfo", `160000,${SHA},sub`);
      expect(runsRepositoryFilters(STATUS, workspace)).toBe(true);
    },
  );

  it("finds a submodule in the shared part of a split index", () => {
    git("update-index", "--add", "--cacheinfo", `160000,${SHA},sub`);
    git("update-index", "--split-index");
    addFile("new", 10);
    expect(runsRepositoryFilters(STATUS, workspace)).toBe(true);
  });

  it("does not take the size of a file for the mode of a submodule", () => {
    addFile("of-57344-bytes", 0xe000);
    expect(runsRepositoryFilters(STATUS, workspace)).toBe(false);
  });

  it("is false if there is no repository", () => {
    rmSync(join(workspace, ".git"), { recursive: true });
    expect(runsRepositoryFilters(STATUS, workspace)).toBe(false);
  });

  function addFile(name: string, bytes: number): void {
    writeFileSync(join(workspace, name), name);
    truncateSync(join(workspace, name), bytes);
    git("add", name);
  }

  function git(...args: string[]): void {
    execFileSync("git", args, { cwd: workspace });
  }
});
