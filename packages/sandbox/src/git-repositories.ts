import { dirname, join, sep } from "node:path";
import { realPath } from "@devtool/internal/real-path";
import { findGitlinks } from "./git-index.ts";
import { statsOf } from "./regular-file.ts";
import { SandboxError } from "./sandbox-error.ts";

import {
  directoriesAbove,
  isInTree,
  readGitFile,
  workTreesAround,
} from "./work-trees.ts";

/**
 * Lists the repositories in a workspace that git looks into in addition to its
 * `.git`, even if they do not exist.
 *
 * These are the ones of gitlinks, and those that a `.git` file names, also of
 * repositories that the workspace lies in. Rejects with a `SandboxError` when a
 * link that a command may change leads to one.
 */
export async function repositoryPaths(workspace: string): Promise<string[]> {
  const own = join(workspace, ".git");
  const gitlinks = (await findGitlinks(workspace)).map((path) =>
    join(workspace, path, ".git"),
  );
  for (const path of gitlinks) assertGuardable(path, workspace);
  const gitFiles = [workspace, ...directoriesAbove(workspace)].map(
    (directory) => join(directory, ".git"),
  );
  const named = [...gitFiles, ...gitlinks].flatMap((file) =>
    namedRepository(file, workspace),
  );
  const common = workTreesAround(workspace).map(
    ({ commonDirectory }) => commonDirectory,
  );
  const repositories = [
    ...gitlinks,
    ...named,
    ...common.filter((path) => isInTree(path, workspace)),
  ];
  // The workspace's own `.git` is guarded and granted separately, unless it
  // does not exist and only a gitlink names it.
  return repositories.filter((path) => path !== own || !statsOf(own));
}

/**
 * Returns the repository that a `.git` file names, if it is in the workspace
 * and not in its `.git` (gitrepository-layout(5)).
 */
function namedRepository(file: string, workspace: string): string[] {
  if (statsOf(file)?.isFile() !== true) return [];
  const path = readGitFile(file);
  if (path === undefined) return [];
  const real = realPath(path) ?? path;
  if (path.startsWith(join(workspace, sep)) && real !== path) {
    const problem = `${JSON.stringify(file)} names ${JSON.stringify(path)}, which goes through a link`;
    const remedy = 'name the place that it leads to, or choose sandbox "none"';
    throw new SandboxError(problem, "cannot-confine", { remedy });
  }
  return isInTree(real, workspace) ? [real] : [];
}

/**
 * Throws for a repository at a gitlink that is a symbolic link or below a file.
 *
 * Nothing can be mounted over such a repository, so a command could put another
 * one in its place.
 */
function assertGuardable(path: string, workspace: string): void {
  if (statsOf(path)?.isSymbolicLink()) {
    const problem = `the workspace cannot be confined: ${JSON.stringify(path)} is a symbolic link`;
    const remedy =
      'replace it with a file "gitdir: <path>", or choose sandbox "none"';
    throw new SandboxError(problem, "cannot-confine", { remedy });
  }
  for (
    let above = dirname(path);
    above.startsWith(join(workspace, sep));
    above = dirname(above)
  ) {
    if (statsOf(above)?.isFile() !== true) continue;
    const problem = `the workspace cannot be confined: ${JSON.stringify(above)} is a file where a submodule should be`;
    const remedy =
      'restore the submodule or remove it from the index, or choose sandbox "none"';
    throw new SandboxError(problem, "cannot-confine", { remedy });
  }
}
