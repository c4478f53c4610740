import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, realpathSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runsRepositoryFilters } from "./repository-filters.ts";

const SHA = "1234567890123456789012345678901234567890";
const STATUS = ["git", "status", "--short"];

describe("a command that makes git run programs of a repository", () => {
  let workspace: string;
  beforeEach(() => {
    workspace = realpathSync(mkdtempSync(join(tmpdir(), "devtool-filters-")));
    git("init", "-q");
  });
  afterEach(() => rmSync(workspace, { recursive: true }));

  it("is one that compares files where the configuration names filters, or other files", () => {
    expect(runsRepositoryFilters(STATUS, workspace)).toBe(false);
    appendFileSync(join(workspace, ".git/config"), "[include]\n\tpath = ../x\n");
    expect(runsRepositoryFilters(STATUS, workspace)).toBe(true);
    expect(runsRepositoryFilters(["git", "log"], workspace)).toBe(false);
    expect(runsRepositoryFilters(["cat", "status"], workspace)).toBe(false);
  });

  it.each(["2", "3", "4"])("is one that compares files beside a submodule, in an index of version %s", (version) => {
    for (const name of ["a", "some/long/name", "z"]) addFile(name.replaceAll("/", "-"), 10);
    git("update-index", "--index-version", version);
    expect(runsRepositoryFilters(STATUS, workspace)).toBe(false);
    git("update-index", "--add", "--cacheinfo", `160000,${SHA},sub`);
    expect(runsRepositoryFilters(STATUS, workspace)).toBe(true);
  });

  it("is one that compares files beside a submodule that lies in the shared part of a split index", () => {
    git("update-index", "--add", "--cacheinfo", `160000,${SHA},sub`);
    git("update-index", "--split-index");
    addFile("new", 10);
    expect(runsRepositoryFilters(STATUS, workspace)).toBe(true);
  });

  it("is not one because of a file whose size has the bytes of a submodule's mode", () => {
    addFile("of-57344-bytes", 0xe000);
    expect(runsRepositoryFilters(STATUS, workspace)).toBe(false);
  });

  it("is not one where no repository is", () => {
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
