import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeEach, describe, expect, it } from "vitest";
import {
  assertWorkspaceInPlace,
  beginInWorkspace,
  forgetWorkspacesIn,
  WorkspaceRoots,
} from "./workspace-roots.ts";

describe("the roots of workspaces", () => {
  let base: string;
  /** A directory that lies in `outer`, from which a command may replace it. */
  let sub: string;
  let outside: string;

  beforeEach(() => {
    base = temporaryDirectory();
    sub = join(base, "outer/x/sub");
    outside = join(base, "outside");
    mkdirSync(join(sub, "deep"), { recursive: true });
    mkdirSync(join(outside, "sub/deep"), { recursive: true });
  });

  /** What a command in `outer` can do to the way that leads to the root. */
  const swaps: readonly (readonly [string, () => void])[] = [
    [
      "a link in place of the directory above it",
      () => {
        renameSync(join(base, "outer/x"), join(base, "outer/y"));
        symlinkSync(outside, join(base, "outer/x"));
      },
    ],
    [
      "a link in its place",
      () => {
        renameSync(sub, join(base, "outer/y"));
        symlinkSync(join(outside, "sub"), sub);
      },
    ],
    [
      "another directory in its place",
      () => {
        renameSync(sub, join(base, "outer/y"));
        renameSync(join(outside, "sub"), sub);
      },
    ],
    [
      "a link to where it is now",
      () => {
        renameSync(sub, join(base, "outer/y"));
        symlinkSync(join(base, "outer/y"), sub);
      },
    ],
  ];

  it.each(swaps)("S2: are places, not names: %s", (_name, swap) => {
    const roots = new WorkspaceRoots([sub, join(base, "outer")]);
    for (const path of [sub, join(sub, "deep")]) {
      expect(() => roots.assertInPlace(path)).not.toThrow();
      expect(roots.contains(path)).toBe(true);
    }
    swap();
    for (const path of [sub, join(sub, "deep"), `${sub}/../sub/deep`]) {
      expect(() => roots.assertInPlace(path)).toThrow(
        `workspace "${sub}" is not where it was`,
      );
    }
    expect(roots.contains(join(outside, "sub"))).toBe(false);
    // The other root has not moved.
    expect(() => roots.assertInPlace(join(base, "outer"))).not.toThrow();
    expect(roots.contains(join(base, "outer"))).toBe(true);
  });

  it.each([
    ["a link in place of the directory above it", swaps[0]?.[1]],
    ["a link in its place", swaps[1]?.[1]],
    [
      "a link behind a link of the operator's",
      () => {
        renameSync(sub, join(base, "outer/y"));
        symlinkSync(join(base, "hop"), sub);
        symlinkSync("outside/sub", join(base, "hop"));
      },
    ],
  ])("S2: are no way out at the next start either: %s", (_name, swap) => {
    const alias = join(base, "alias");
    symlinkSync("outer/x/sub", alias);
    const named = [sub, alias, join(alias, "deep")];
    const outer = join(base, "outer");
    for (const path of named) {
      expect(() => new WorkspaceRoots([path, outer])).not.toThrow();
    }
    swap?.();
    for (const path of named) {
      expect(() => new WorkspaceRoots([outer, path])).toThrow(
        `root "${path}" leads out of root "${outer}" by the link`,
      );
    }
    expect(
      new WorkspaceRoots([outer, join(outside, "sub")]).contains(
        join(outside, "sub"),
      ),
    ).toBe(true);
  });

  it("S2: may lie behind a link that stays in another one, and missing or in a circle", () => {
    symlinkSync("x", join(base, "outer/same"));
    symlinkSync("circle", join(base, "outer/circle"));
    const outer = join(base, "outer");
    const names = ["same/sub", "circle", "missing/root"];
    const roots = new WorkspaceRoots([
      outer,
      ...names.map((name) => join(outer, name)),
    ]);
    expect(roots.contains(sub)).toBe(true);
  });

  it("S2: count again when they are put back", () => {
    const roots = new WorkspaceRoots([sub]);
    renameSync(sub, join(base, "outer/y"));
    symlinkSync(outside, sub);
    expect(() => roots.assertInPlace(sub)).toThrow("it leads to");
    rmSync(sub);
    renameSync(join(base, "outer/y"), sub);
    expect(() => roots.assertInPlace(sub)).not.toThrow();
    expect(roots.contains(sub)).toBe(true);
  });

  it("S2: may be made later, where the operator named them", () => {
    const later = join(base, "outer/later/root");
    const roots = new WorkspaceRoots([later]);
    symlinkSync(outside, join(base, "outer/later"));
    mkdirSync(join(outside, "root"));
    expect(() => roots.assertInPlace(later)).toThrow("it leads to");
    expect(roots.contains(join(outside, "root"))).toBe(false);
    rmSync(join(base, "outer/later"));
    mkdirSync(later, { recursive: true });
    expect(() => roots.assertInPlace(later)).not.toThrow();
    expect(roots.contains(later)).toBe(true);
  });

  it("S2: may be named by a link, which leads where it led", () => {
    const link = join(base, "link");
    symlinkSync(sub, link);
    const roots = new WorkspaceRoots([link]);
    expect(roots.contains(sub)).toBe(true);
    rmSync(link);
    symlinkSync(outside, link);
    expect(() => roots.assertInPlace(link)).toThrow("it leads to");
    expect(roots.contains(outside)).toBe(false);
  });

  it.each(swaps)(
    "S2, R3: hold for the workspace of a session that goes on: %s",
    (_name, swap) => {
      beginInWorkspace(sub);
      expect(() => assertWorkspaceInPlace(sub)).not.toThrow();
      swap();
      expect(() => assertWorkspaceInPlace(sub)).toThrow(
        `workspace "${sub}" is not where it was`,
      );
    },
  );

  it("R3: hold since the first use, where a session began in an earlier process", () => {
    expect(() => assertWorkspaceInPlace(sub)).not.toThrow();
    renameSync(join(base, "outer/x"), join(base, "outer/y"));
    mkdirSync(sub, { recursive: true });
    const message = "another directory is in its place";
    expect(() => assertWorkspaceInPlace(sub)).toThrow(message);
    beginInWorkspace(sub);
    expect(() => assertWorkspaceInPlace(sub)).not.toThrow();
  });

  it("R3: hold until another server of the process starts on what is there", () => {
    beginInWorkspace(sub);
    renameSync(join(base, "outer/x"), join(base, "outer/y"));
    mkdirSync(sub, { recursive: true });
    forgetWorkspacesIn(new WorkspaceRoots([outside]));
    const message = "another directory is in its place";
    expect(() => assertWorkspaceInPlace(sub)).toThrow(message);
    forgetWorkspacesIn(new WorkspaceRoots([base]));
    expect(() => assertWorkspaceInPlace(sub)).not.toThrow();
  });
});
