import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { readRegularFile } from "./regular-file.ts";
import { type WorkTree, workTreesAround } from "./work-trees.ts";

const MAX_CONFIG_BYTES = 1024 * 1024;

/**
 * Lists the paths in a workspace from which the configuration of a repository takes commands: its own, and those that it lies in.
 *
 * These are `core.hooksPath`, relative to the work tree, and `include.path`, relative to the configuration (git-config(1)). Sandboxed commands
 * cannot change that file, so it is the user's.
 */
export function configuredPaths(workspace: string): string[] {
  const paths = workTreesAround(workspace).flatMap((tree) => [
    ...pathsIn(join(tree.commonDirectory, "config"), tree),
    ...pathsIn(join(tree.gitDirectory, "config.worktree"), tree),
  ]);
  return paths.filter((path) => path.startsWith(`${workspace}/`) && !path.startsWith(`${workspace}/.git/`));
}

/** Reads the paths from one file of configuration. */
function pathsIn(file: string, { roots }: WorkTree): string[] {
  const content = readRegularFile(file, MAX_CONFIG_BYTES);
  const lines = content instanceof Buffer ? content.toString().split("\n") : [];
  return lines.flatMap((line) => {
    const [, key = "", value = ""] = /^\s*(?:\[[^\]]*\]\s*)?(path|hookspath)\s*=\s*"?(.*?)"?\s*$/i.exec(line) ?? [];
    const path = value.replace(/^~(?=\/)/, homedir());
    if (path === "") return [];
    return (key.toLowerCase() === "path" ? [dirname(file)] : roots).map((directory) => resolve(directory, path));
  });
}
