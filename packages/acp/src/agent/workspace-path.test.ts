import { mkdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { Code } from "@devtool/server/agent";
import { beforeEach, describe, expect, it } from "vitest";
import { WorkspacePlace, workspaceDirectoryOf } from "./workspace-path.ts";

describe("a place in a workspace", () => {
  let base: string;
  let workspace: string;
  beforeEach(() => {
    base = temporaryDirectory();
    workspace = join(base, "workspace");
    mkdirSync(join(base, "workspace-beside"));
    putFile(workspace, "src/a.txt", "inside");
    putFile(base, "a.txt", "outside");
    symlinkSync(base, join(workspace, "out"));
    symlinkSync(join(workspace, "src"), join(workspace, "in"));
  });

  it("is opened by its directory, and shown without links on the way", async () => {
    await using place = await WorkspacePlace.open(
      workspace,
      join(workspace, "in/a.txt"),
    );
    expect([place.shownPath, readFileSync(place.path, "utf8")]).toEqual([
      join(workspace, "src/a.txt"),
      "inside",
    ]);
  });

  it("stays in its directory when the path leads elsewhere by now", async () => {
    await using place = await WorkspacePlace.open(
      workspace,
      join(workspace, "src/a.txt"),
    );
    renameSync(join(workspace, "src"), join(workspace, "moved"));
    symlinkSync(base, join(workspace, "src"));
    expect(readFileSync(place.path, "utf8")).toBe("inside");
  });

  it("S2: is refused when a link has taken the place of the workspace", async () => {
    renameSync(workspace, join(base, "moved"));
    symlinkSync(join(base, "moved"), workspace);
    const refused = {
      code: Code.FailedPrecondition,
      message: expect.stringContaining("is not where it was"),
    };
    await expect(
      WorkspacePlace.open(workspace, join(workspace, "src/a.txt")),
    ).rejects.toMatchObject(refused);
    await expect(
      workspaceDirectoryOf(workspace, join(workspace, "in")),
    ).rejects.toMatchObject(refused);
  });

  it.each([
    ["above it", "../a.txt"],
    ["behind a link", "out/a.txt"],
    [
      "in a directory whose name begins like its own",
      "../workspace-beside/a.txt",
    ],
    ["that does not exist", "../none/a.txt"],
  ])(
    "is not one %s, and whether that exists is not said",
    async (_where, path) => {
      const named = `${workspace}/${path}`;
      await expect(WorkspacePlace.open(workspace, named)).rejects.toMatchObject(
        {
          code: Code.PermissionDenied,
          message: `path ${JSON.stringify(named)} is outside of workspace ${JSON.stringify(workspace)}`,
        },
      );
      const directory = named.slice(0, named.lastIndexOf("/"));
      await expect(
        workspaceDirectoryOf(workspace, directory),
      ).rejects.toMatchObject({ code: Code.PermissionDenied });
    },
  );

  it.each([
    ["relative", "src/a.txt", "is not absolute"],
    ["with a zero byte", "/src/a\0.txt", "is not absolute"],
    ["of a directory", `/src/`, "names no file"],
    ["of the directory above", "/src/..", "names no file"],
  ])("does not have a path %s", async (_what, path, problem) => {
    const opened = WorkspacePlace.open(
      workspace,
      path.startsWith("/") ? `${workspace}${path}` : path,
    );
    await expect(opened).rejects.toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringContaining(problem),
    });
  });

  it("has a directory that exists", async () => {
    for (const path of ["none/a.txt", "src/a.txt/b"]) {
      await expect(
        WorkspacePlace.open(workspace, join(workspace, path)),
      ).rejects.toMatchObject({
        code: Code.NotFound,
      });
    }
    expect(await workspaceDirectoryOf(workspace, workspace)).toBe(workspace);
    await expect(workspaceDirectoryOf(workspace, "src")).rejects.toMatchObject({
      code: Code.InvalidArgument,
    });
  });
});
