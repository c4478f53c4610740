import { realpathSync, statSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";

/**
 * Returns the real path of a path; undefined when nothing is there, as for an
 * empty path. A link is followed before a `..` behind it, as the system does.
 * Synchronous, because the call takes microseconds, less than a round trip
 * through a thread.
 */
export function realPath(path: string): string | undefined {
  if (path === "") return undefined;
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/**
 * Returns the real path of a path. What is missing at its end stays as it is.
 */
export function realPathOrMissing(path: string): string {
  const parent = dirname(path);
  return (
    realPath(path) ??
    (parent === path ? path : join(realPathOrMissing(parent), basename(path)))
  );
}

/** Returns a real path when it is a directory, otherwise undefined. */
export function directoryAt(real: string | undefined): string | undefined {
  const found =
    real === undefined ? undefined : statSync(real, { throwIfNoEntry: false });
  return found?.isDirectory() ? real : undefined;
}

/**
 * Whether a path is a directory or lies in it. Compares the paths segment by
 * segment, without a look at the disk: resolve symbolic links first.
 */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path);
  return (
    way === "" ||
    (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way))
  );
}
