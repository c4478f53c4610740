import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { directoryAt, realPath } from "@devtool/internal/real-path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { MessageSchema, TaskSchema } from "@devtool/schema";
import { beforeEach, describe, expect, it } from "vitest";
import { turnDirectory } from "./turn-directory.ts";

describe("the real path of a path that a client names", () => {
  let root: string;
  beforeEach(() => {
    root = temporaryDirectory();
    mkdirSync(join(root, "workspace/sub"), { recursive: true });
    mkdirSync(join(root, "outside/sub"), { recursive: true });
    symlinkSync(join(root, "outside/sub"), join(root, "workspace/out"));
    symlinkSync(join(root, "workspace/sub"), join(root, "workspace/in"));
    putFile(root, "workspace/file", "");
  });

  it.each([
    ["out/..", "outside"],
    ["in/..", "workspace"],
    ["in/../in", "workspace/sub"],
    ["out/../../workspace/sub", "workspace/sub"],
    ["missing/..", undefined],
    ["file", undefined],
    ["file/..", undefined],
  ])(
    "is that of the system, for a workspace and for the directory of a turn alike: %s",
    (path, real) => {
      const named = `${root}/workspace/${path}`;
      const expected = real === undefined ? undefined : join(root, real);
      expect(directoryAt(realPath(named))).toBe(expected);
      expect(turnDirectoryAt(named)).toBe(expected);
    },
  );

  it("of a text that is empty or no path is undefined", () => {
    for (const path of ["", "\0"]) expect(realPath(path)).toBeUndefined();
  });

  /**
   * Returns where a turn works that names a directory; undefined when that is
   * refused.
   */
  function turnDirectoryAt(workingDirectory: string): string | undefined {
    const task = create(TaskSchema, { settings: { workspacePath: root } });
    try {
      return turnDirectory(
        task,
        create(MessageSchema, { turnSettings: { workingDirectory } }),
      );
    } catch {
      return undefined;
    }
  }
});
