import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isFilePlaceholder } from "./placeholder.ts";

/** A file that stands in a repository while a command may write there. */
export interface Redirect {
  readonly path: string;
  /** What it says: to git the same as if it was not there. */
  readonly content: string;
}

/** What would point git to another configuration, with what keeps it at its own (gitrepository-layout, git-worktree). */
const REDIRECTS: readonly (readonly [name: string, content: string])[] = [
  ["commondir", ".\n"],
  ["config.worktree", ""],
];

/** Submodules of submodules lie in each other, and their names may hold slashes. */
const MAX_MODULE_DEPTH = 8;

/**
 * What is not there of the repositories of a workspace and would point git to another configuration. What a server that was killed
 * left there counts as missing.
 */
export function missingRedirects(workspace: string): Redirect[] {
  const paths = repositoriesIn(workspace).flatMap((git) =>
    REDIRECTS.map(([name, content]) => ({ path: join(git, name), content })),
  );
  return paths.filter(({ path }) => !lstatSync(path, { throwIfNoEntry: false }) || isFilePlaceholder(path));
}

/** What a server that was killed left of them. */
export function leftRedirects(workspace: string): Redirect[] {
  const isLeft = REDIRECTS.some(([name]) => isFilePlaceholder(join(workspace, ".git", name)));
  return isLeft ? missingRedirects(workspace).filter(({ path }) => isFilePlaceholder(path)) : [];
}

/** The repository of a workspace, and those of its submodules in it. */
export function repositoriesIn(workspace: string): string[] {
  const git = join(workspace, ".git");
  if (!lstatSync(git, { throwIfNoEntry: false })?.isDirectory()) return [];
  return [git, ...modulesIn(join(git, "modules"), MAX_MODULE_DEPTH)];
}

/** The repositories of submodules below a directory. */
function modulesIn(directory: string, depth: number): string[] {
  const stats = lstatSync(directory, { throwIfNoEntry: false });
  if (depth === 0 || !stats?.isDirectory()) return [];
  if (lstatSync(join(directory, "HEAD"), { throwIfNoEntry: false }))
    return [directory, ...modulesIn(join(directory, "modules"), depth - 1)];
  const entries = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return entries.flatMap(({ name }) => modulesIn(join(directory, name), depth - 1));
}
