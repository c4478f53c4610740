import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { expandHome, includedFiles, readGitSettings } from "./git-settings.ts";
import { isInTree, workTreesAround } from "./work-trees.ts";

/**
 * The configuration that holds for all repositories of the user (git-config(1),
 * "Files"), where no variable moves it.
 */
const OF_USER: readonly string[] = [
  "/etc/gitconfig",
  join(homedir(), ".config/git/config"),
  join(homedir(), ".gitconfig"),
];

/**
 * The absolute paths in a workspace that the configuration of git names. They
 * may not exist.
 */
export interface ConfiguredPaths {
  /**
   * Directories that hold hooks (`core.hooksPath`, relative to the work tree).
   */
  readonly hooks: readonly string[];
  /**
   * Further files of configuration (`include.path` and `includeIf.*.path`,
   * relative to the file that includes).
   */
  readonly files: readonly string[];
}

/**
 * Lists the paths in a workspace from which the configuration of a repository
 * takes commands: its own, those that it lies in, and the user's.
 *
 * Sandboxed commands cannot change that configuration, so it is the user's.
 * Throws a `SandboxError` where it cannot be read.
 */
export function configuredPaths(workspace: string): ConfiguredPaths {
  const trees = workTreesAround(workspace);
  const own = trees.map(({ roots, commonDirectory, gitDirectory }) => {
    const named = [
      join(commonDirectory, "config"),
      join(gitDirectory, "config.worktree"),
    ];
    return { roots, files: named.flatMap(includedFiles) };
  });
  const ofUser = {
    roots: trees.flatMap(({ roots }) => roots),
    files: OF_USER.flatMap(includedFiles),
  };
  const settings = [...own, ofUser].flatMap(({ roots, files }) =>
    files.flatMap((file) =>
      readGitSettings(file).map((setting) => ({ ...setting, file, roots })),
    ),
  );
  const hooks = settings.flatMap(({ key, value, file, roots }) => {
    if (key !== "core.hookspath" || !value) return [];
    return roots.map((root) => resolve(root, expandHome(value, file)));
  });
  const files = [...own, ofUser].flatMap((one) => one.files);
  return {
    hooks: hooks.filter((path) => isInTree(path, workspace)),
    files: files.filter((path) => isInTree(path, workspace)),
  };
}
