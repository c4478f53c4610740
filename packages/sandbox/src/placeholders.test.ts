import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { Placeholders } from "./placeholders.ts";

describe("the placeholders of two servers in one workspace", () => {
  let workspace: string;
  beforeEach(() => {
    workspace = temporaryDirectory();
  });

  it("stay while either is about to mount something over them", () => {
    const first = hold();
    const second = hold();
    first[Symbol.dispose]();
    expect(readdirSync(workspace)).toEqual([".mcp.json", ".vscode"]);
    second[Symbol.dispose]();
    expect(readdirSync(workspace)).toEqual([]);
  });

  it("are removed by the one whose command ends last", () => {
    const first = hold();
    const command = startLikeBwrap();
    const second = hold();
    second[Symbol.dispose]();
    expect(readdirSync(workspace)).toEqual([".mcp.json", ".vscode"]);
    command[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(readdirSync(workspace)).toEqual([]);
  });

  function hold(): Disposable {
    return new Placeholders().hold({
      directories: [join(workspace, ".vscode")],
      redirects: [{ path: join(workspace, ".mcp.json"), content: "" }],
      links: [],
    });
  }

  /**
   * Starts a process with the arguments of a bwrap that has mounted nothing
   * yet. Disposing of it ends it, before anything else of this test runs.
   */
  function startLikeBwrap(): Disposable {
    const mounts = [".vscode", ".mcp.json"].flatMap((path) => [
      "--tmpfs",
      join(workspace, path),
    ]);
    const { pid = Number.NaN } = spawn("bash", ["-c", "read", ...mounts, ""]);
    const args = (): string => readFileSync(`/proc/${pid}/cmdline`, "utf8");
    while (args() === "");
    return {
      [Symbol.dispose]: () => {
        process.kill(pid, "SIGKILL");
        while (args() !== "");
      },
    };
  }
});

/**
 * A command of an enclosing workspace may put a link in the place of the
 * workspace.
 */
describe("the placeholders of a workspace that is replaced with a link", () => {
  let root: string;
  let workspace: string;
  let outside: string;
  beforeEach(() => {
    root = temporaryDirectory();
    workspace = join(root, "workspace");
    outside = join(root, "outside");
    for (const path of [workspace, outside]) mkdirSync(path);
  });

  it("are not made where the link leads", () => {
    replaceWorkspace();
    expect(hold).toThrow(
      '/workspace" was renamed or replaced while the command was starting: run the command again',
    );
    expect(readdirSync(outside)).toEqual([]);
  });

  it("are not removed where the link leads", () => {
    mkdirSync(join(outside, ".vscode"));
    {
      using _held = hold();
      expect(existsSync(join(workspace, ".vscode"))).toBe(true);
      replaceWorkspace();
    }
    expect(readdirSync(outside)).toEqual([".vscode"]);
  });

  it("are removed only where they are placeholders", () => {
    {
      using _held = hold();
      rmSync(join(workspace, ".vscode"), { recursive: true });
      mkdirSync(join(workspace, ".vscode"));
    }
    expect(readdirSync(workspace)).toEqual([".vscode"]);
  });

  function hold(): Disposable {
    const redirects = [{ path: join(workspace, "commondir"), content: ".\n" }];
    return new Placeholders().hold({
      directories: [join(workspace, ".vscode")],
      redirects,
      links: [],
    });
  }

  function replaceWorkspace(): void {
    renameSync(workspace, join(root, "moved"));
    symlinkSync("outside", workspace);
  }
});
