import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import { Placeholders } from "./placeholders.ts";

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
