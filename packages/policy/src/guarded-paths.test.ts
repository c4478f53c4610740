import { describe, expect, it } from "vitest";
import { isGuardedOn } from "./guarded-paths.ts";

describe("a guarded path", () => {
  it.each([
    ".vſcode/tasks.json",
    ".EnvRC",
    ".ideA/x",
    ".git/hooks/pre-commit",
    "sub/.githu\u200bb/workflows/x.yml",
    ".vs\ufe0fcode/tasks.json",
    ".g\u034fit/x",
    "\u212aimi/../.\u212aimi/x",
    "a.ſublime-project",
  ])("is %j however a file system folds names", (path) => {
    for (const platform of ["linux", "darwin", "win32"] as const) {
      expect(isGuardedOn(platform, path), platform).toBe(true);
    }
  });

  it.each([
    ".git./hooks/pre-commit",
    ".git. . /hooks/pre-commit",
    ".envrc.",
    ".envrc ",
    ".envrc::$DATA",
    ".git::$INDEX_ALLOCATION/x",
    "GIT~1/hooks/x",
    "sub/SETTIN~12.JSO",
    ".git\\hooks\\pre-commit",
    "sub\\.vscode.\\tasks.json",
    "a.code-workspace.",
    ".yarn./releases /a.cjs",
    "c:x",
  ])("is %j on Windows", (path) => {
    expect(isGuardedOn("win32", path)).toBe(true);
    expect(isGuardedOn("linux", path)).toBe(false);
  });

  it.each(["src/a.ts", "a~b.txt", "docs/git.md", "src/...", "é/ß.txt", ""])(
    "is not %j anywhere",
    (path) => {
      for (const platform of ["linux", "darwin", "win32"] as const) {
        expect(isGuardedOn(platform, path), platform).toBe(false);
      }
    },
  );
});
