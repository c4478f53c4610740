import { type Stats, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, resolve } from "node:path";
import { EVERYBODY_WRITES, grants } from "@devtool/internal/file-access";
import { realPath } from "@devtool/internal/real-path";
import { isWithin } from "./guarded-places.ts";
import { realPaths } from "./system-mounts.ts";

/** The directories of a PATH, by who can change the programs in them. */
export interface SearchPath {
  /**
   * Directories that only root and this user can change: real paths, in the
   * order of the PATH.
   */
  readonly trusted: readonly string[];
  /**
   * Directories in a workspace, without `node_modules/.bin`. Programs there may
   * only run in a sandbox.
   */
  readonly ofWorkspaces: readonly string[];
  /**
   * Messages for an operator: each names another directory that is left out,
   * and why.
   */
  readonly refused: readonly string[];
}

/**
 * Mode bit: in a directory, everybody may only remove and rename what they own.
 */
const STICKY = 0o1000;
/**
 * Directories of the system. They are trusted even where user ids are mapped
 * and root appears to be another user.
 */
const SYSTEM: ReadonlySet<string> = new Set([
  "/usr/bin",
  "/usr/sbin",
  "/bin",
  "/sbin",
]);
/**
 * The directories that package managers put first in PATH, for the project that
 * they run in and for those that enclose it.
 */
const PROJECT_PROGRAMS = /\/node_modules\/\.bin(\/|$)/;

/**
 * Sorts the directories of a PATH by who can change the programs in them.
 *
 * A directory is trusted if it is absolute, exists, is in no workspace and in
 * no `node_modules/.bin`, and if nobody but root and this user can change it or
 * a directory above it.
 */
export function sortSearchPath(
  path: string,
  workspaceRoots: readonly string[],
): SearchPath {
  const roots = workspaceRoots.flatMap((root) => [
    resolve(root),
    ...realPaths(root),
  ]);
  const trusted = new Set<string>();
  const ofWorkspaces = new Set<string>();
  const refused: string[] = [];
  for (const written of path.split(delimiter).filter(isAbsolute)) {
    const entry = resolve(written);
    const real = realPath(entry);
    if (PROJECT_PROGRAMS.test(entry) || PROJECT_PROGRAMS.test(real ?? "")) {
      continue;
    }
    if (
      isWithin(entry, roots) ||
      (real !== undefined && isWithin(real, roots))
    ) {
      ofWorkspaces.add(entry);
      continue;
    }
    if (real === undefined) continue;
    if (isTrusted(real)) {
      trusted.add(real);
    } else {
      refused.push(`${entry}: others may change it`);
    }
  }
  return { trusted: [...trusted], ofWorkspaces: [...ofWorkspaces], refused };
}

/**
 * Returns whether nobody but root and this user can change or replace the file
 * or directory at a real path.
 */
export function isTrusted(real: string): boolean {
  return whyUntrusted(real) === undefined;
}

/**
 * Returns who else can change or replace the file or directory at a real path,
 * and where: `everybody may change /tmp/x`. Undefined if nobody can.
 */
export function whyUntrusted(real: string): string | undefined {
  if (SYSTEM.has(real) || SYSTEM.has(dirname(real))) return undefined;
  const stats = statsOf(real);
  if (!stats) return `${real} cannot be looked at`;
  if (grants(stats, EVERYBODY_WRITES)) return `everybody may change ${real}`;
  return isOurs(stats)
    ? whyUntrustedParent(dirname(real))
    : `${real} belongs to another user`;
}

/**
 * Returns who else can replace what this user owns in a directory, which nobody
 * can in a sticky one.
 */
function whyUntrustedParent(directory: string): string | undefined {
  if (SYSTEM.has(directory)) return undefined;
  const stats = statsOf(directory);
  if (!stats) return `${directory} cannot be looked at`;
  if (!isOurs(stats)) return `${directory} belongs to another user`;
  if (grants(stats, EVERYBODY_WRITES) && (stats.mode & STICKY) === 0) {
    return `everybody may change ${directory}`;
  }
  const parent = dirname(directory);
  return parent === directory ? undefined : whyUntrustedParent(parent);
}

function isOurs({ uid }: Stats): boolean {
  const own = process.geteuid?.();
  return own === undefined || uid === 0 || uid === own;
}

function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
