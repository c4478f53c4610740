import { readdirSync } from "node:fs";
import { join } from "node:path";
import { isFilePlaceholder } from "./placeholder.ts";
import { statsOf } from "./regular-file.ts";

/**
 * A placeholder file that keeps a command from pointing git to a configuration.
 */
export interface Redirect {
  readonly path: string;
  /** Content with which git behaves as if the file did not exist. */
  readonly content: string;
}

/**
 * Files that point git to another configuration, with the content that changes
 * nothing (gitrepository-layout, git-worktree).
 */
const REDIRECTS: readonly (readonly [name: string, content: string])[] = [
  ["commondir", ".\n"],
  ["config.worktree", ""],
];

/**
 * Maximum depth of the search for submodules, which contain each other and may
 * have slashes in their names.
 */
const MAX_MODULE_DEPTH = 8;

/**
 * Lists the files that would point repositories to another configuration and
 * are missing, or placeholders.
 */
export function missingRedirects(
  gitDirectories: readonly string[],
): Redirect[] {
  const paths = gitDirectories
    .flatMap(repositoriesIn)
    .flatMap((git) =>
      REDIRECTS.map(([name, content]) => ({ path: join(git, name), content })),
    );
  return paths.filter(({ path }) => !statsOf(path) || isFilePlaceholder(path));
}

/**
 * Lists the placeholders that a killed server left behind. Submodules are
 * searched only where the git directory around them has one.
 */
export function leftRedirects(gitDirectories: readonly string[]): Redirect[] {
  const left = gitDirectories.filter((git) =>
    REDIRECTS.some(([name]) => isFilePlaceholder(join(git, name))),
  );
  return missingRedirects(left).filter(({ path }) => isFilePlaceholder(path));
}

/** Lists a git directory, if it exists, and those of submodules in it. */
export function repositoriesIn(git: string): string[] {
  return statsOf(git)?.isDirectory()
    ? [git, ...modulesIn(join(git, "modules"), MAX_MODULE_DEPTH)]
    : [];
}

/** Lists the repositories of submodules below a directory. */
function modulesIn(directory: string, depth: number): string[] {
  const stats = statsOf(directory);
  if (depth === 0 || !stats?.isDirectory()) return [];
  if (statsOf(join(directory, "HEAD"))) {
    return [directory, ...modulesIn(join(directory, "modules"), depth - 1)];
  }
  const entries = readdirSync(directory, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory(),
  );
  return entries.flatMap(({ name }) =>
    modulesIn(join(directory, name), depth - 1),
  );
}
