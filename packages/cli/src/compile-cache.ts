import { lstatSync, mkdirSync, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

/**
 * The directory for what Node compiled: V8 runs what it finds there, so nobody else may put anything into it. It is this
 * user's own, below `XDG_CACHE_HOME` or `~/.cache`, of mode 0700, and nobody but root and this user can change a
 * directory above it. Undefined when that cannot be had: then nothing is kept.
 */
export function compileCacheDirectory({
  XDG_CACHE_HOME = "",
  HOME = "",
}: Readonly<Record<string, string | undefined>>): string | undefined {
  const caches = isAbsolute(XDG_CACHE_HOME) ? XDG_CACHE_HOME : join(HOME, ".cache");
  if (!isAbsolute(caches)) return undefined;
  const directory = join(caches, "devtool", "compile");
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return isPrivate(directory) && isOutOfReach(dirname(realpathSync(directory))) ? directory : undefined;
  } catch {
    return undefined;
  }
}

function isPrivate(directory: string): boolean {
  const stats = lstatSync(directory);
  return stats.isDirectory() && stats.uid === (process.geteuid?.() ?? stats.uid) && (stats.mode & 0o077) === 0;
}

/** In a sticky directory nobody can replace what belongs to others. */
function isOutOfReach(directory: string): boolean {
  const stats = statSync(directory);
  const isOpen = (stats.mode & 0o002) !== 0 && (stats.mode & 0o1000) === 0;
  if (isOpen || !isOurs(stats)) return false;
  return dirname(directory) === directory || isOutOfReach(dirname(directory));
}

function isOurs({ uid }: Stats): boolean {
  return uid === 0 || uid === (process.geteuid?.() ?? uid);
}
