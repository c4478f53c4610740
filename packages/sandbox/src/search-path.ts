import { type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import { isWithin } from "./guarded-places.ts";
import { realPath, realPaths } from "./system-mounts.ts";

/** A value of PATH, sorted by who may change what lies in its directories. */
export interface SearchPath {
  /** The directories that only root and this user may change, by their real paths, in their order. */
  readonly trusted: readonly string[];
  /** Directories in a workspace, but for `node_modules/.bin`: what is written there must run in a sandbox only. */
  readonly ofWorkspaces: readonly string[];
  /** The other directories that are left out, for an operator: each with the reason. */
  readonly refused: readonly string[];
}

/** The mode bit by which everybody may write. */
const WORLD_WRITABLE = 0o002;
/** The mode bit by which everybody may only change what is their own. */
const STICKY = 0o1000;
/** Directories of the system: who may change these has the machine. They count also where user ids are mapped. */
const SYSTEM: ReadonlySet<string> = new Set(["/usr/bin", "/usr/sbin", "/bin", "/sbin"]);

/**
 * Sorts the directories of a PATH. Trusted are absolute directories that exist, that lie in no workspace and in no
 * project's `node_modules/.bin`, and that nobody but root and this user can change, whatever parent they start at.
 */
export function sortSearchPath(path: string, workspaceRoots: readonly string[]): SearchPath {
  const roots = workspaceRoots.flatMap((root) => [resolve(root), ...realPaths(root)]);
  const trusted = new Set<string>();
  const ofWorkspaces = new Set<string>();
  const refused: string[] = [];
  for (const written of path.split(":").filter(isAbsolute)) {
    const entry = resolve(written);
    const real = realPath(entry);
    if (isProjectDirectory(entry) || isProjectDirectory(real ?? "")) continue;
    else if (isWithin(entry, roots) || (real !== undefined && isWithin(real, roots))) ofWorkspaces.add(entry);
    else if (real === undefined) continue;
    else if (isTrusted(real)) trusted.add(real);
    else refused.push(`${entry}: others may change it`);
  }
  return { trusted: [...trusted], ofWorkspaces: [...ofWorkspaces], refused };
}

/** Whether nobody but root and this user can change what is at a real path, or put something else there. */
export function isTrusted(real: string): boolean {
  if (SYSTEM.has(real) || SYSTEM.has(dirname(real))) return true;
  const stats = statsOf(real);
  return stats !== undefined && (stats.mode & WORLD_WRITABLE) === 0 && isOurs(stats) && isParentTrusted(dirname(real));
}

/** In a sticky directory nobody can replace what belongs to others. */
function isParentTrusted(directory: string): boolean {
  if (SYSTEM.has(directory)) return true;
  const stats = statsOf(directory);
  if (!stats || !isOurs(stats)) return false;
  if ((stats.mode & WORLD_WRITABLE) !== 0 && (stats.mode & STICKY) === 0) return false;
  return dirname(directory) === directory || isParentTrusted(dirname(directory));
}

function isOurs({ uid }: Stats): boolean {
  const own = process.geteuid?.();
  return own === undefined || uid === 0 || uid === own;
}

/** Package managers put these in front of PATH for the project that they are run in, and for those around it. */
function isProjectDirectory(directory: string): boolean {
  return /\/node_modules\/\.bin(\/|$)/.test(directory);
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
