import { accessSync, constants, lstatSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { realPath } from "@devtool/internal/real-path";
import { readGitSettings } from "./git-settings.ts";
import { readRegularFile } from "./regular-file.ts";

/**
 * Maximum size of a `.git` or `commondir` file in bytes: more than the longest
 * path.
 */
const MAX_GIT_FILE_BYTES = 8192;

/** A work tree of git, and where its repository is. */
export interface WorkTree {
  /**
   * The directory of its `.git`, and the one that the configuration names
   * instead (`core.worktree` in git-config(1)).
   */
  readonly roots: readonly string[];
  /**
   * The real path of the directory with its index: `.git`, or what that file
   * names.
   */
  readonly gitDirectory: string;
  /**
   * The real path of the directory with its configuration and hooks, which
   * linked work trees share (git-worktree(1)).
   */
  readonly commonDirectory: string;
}

/**
 * Lists the work trees that a workspace is or lies in, innermost first.
 *
 * Throws a `SandboxError` where the configuration of one cannot be read.
 *
 * Git commands that a user runs outside of the sandbox may use each of them.
 * Repositories above the workspace that git does not use either are left out:
 * those that this user cannot read, and those of other users (`safe.directory`
 * in git-config(1)).
 */
export function workTreesAround(workspace: string): WorkTree[] {
  const own = workTreeAt(workspace);
  const enclosing = directoriesAbove(workspace).flatMap((directory) => {
    const tree = workTreeAt(directory);
    return tree && isUsedByGit(directory, tree, workspace) ? [tree] : [];
  });
  return own ? [own, ...enclosing] : enclosing;
}

/**
 * Returns whether a path is in a workspace, but not in the `.git` of the
 * workspace.
 */
export function isInTree(path: string, workspace: string): boolean {
  return (
    path.startsWith(join(workspace, sep)) &&
    !path.startsWith(join(workspace, ".git/"))
  );
}

/** Lists the directories above a path, nearest first. */
export function directoriesAbove(path: string): string[] {
  const above = dirname(path);
  return above === path ? [] : [above, ...directoriesAbove(above)];
}

/**
 * Returns the work tree whose `.git` is in a directory; undefined when there is
 * none.
 */
export function workTreeAt(directory: string): WorkTree | undefined {
  const path = join(directory, ".git");
  const named = isDirectoryAt(path) ? path : readGitFile(path);
  const gitDirectory = named === undefined ? undefined : realPath(named);
  if (gitDirectory === undefined || !isDirectoryAt(gitDirectory)) {
    return undefined;
  }
  const content = readRegularFile(
    join(gitDirectory, "commondir"),
    MAX_GIT_FILE_BYTES,
  );
  const common =
    content instanceof Buffer
      ? resolve(gitDirectory, content.toString().trim())
      : gitDirectory;
  const commonDirectory = realPath(common) ?? gitDirectory;
  const files = [
    join(commonDirectory, "config"),
    join(gitDirectory, "config.worktree"),
  ];
  // Git does not look for `core.worktree` in files that these include.
  const configured = files
    .flatMap((file) => readGitSettings(file))
    .flatMap(({ key, value }) =>
      key === "core.worktree" && value ? [resolve(gitDirectory, value)] : [],
    )
    .map((path) => realPath(path) ?? path);
  return {
    roots: [...new Set([directory, ...configured])],
    gitDirectory,
    commonDirectory,
  };
}

/**
 * Returns the absolute path that a `.git` file names; undefined for anything
 * else (gitrepository-layout(5)).
 */
export function readGitFile(path: string): string | undefined {
  const content = readRegularFile(path, MAX_GIT_FILE_BYTES);
  const named =
    content instanceof Buffer
      ? /^gitdir: (.+?)[\r\n]*$/s.exec(content.toString())?.[1]
      : undefined;
  return named === undefined ? undefined : resolve(dirname(path), named);
}

function isDirectoryAt(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Whether git would use a repository above a workspace. In containers it may
 * belong to the owner of the workspace instead of this user.
 */
function isUsedByGit(
  directory: string,
  { gitDirectory }: WorkTree,
  workspace: string,
): boolean {
  try {
    const trusted = [0, process.getuid?.(), statSync(workspace).uid];
    if (!trusted.includes(lstatSync(join(directory, ".git")).uid)) return false;
    accessSync(gitDirectory, constants.R_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
