import {
  lstatSync,
  mkdirSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

/**
 * Returns the directory for code that is kept: Node's compile cache, or the
 * files of the single executable. Undefined when there is no safe one, and then
 * nothing is kept.
 *
 * What is in it is run, so nobody else may be able to write to it. It is
 * below `XDG_CACHE_HOME` or `~/.cache`, belongs to this user with mode 0700,
 * and nobody but root and this user can change a directory above it.
 */
export function cacheDirectory(
  name: "compile" | "program",
  {
    XDG_CACHE_HOME = "",
    HOME = "",
  }: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const caches = isAbsolute(XDG_CACHE_HOME)
    ? XDG_CACHE_HOME
    : join(HOME, ".cache");
  if (!isAbsolute(caches)) return undefined;
  const directory = join(caches, "devtool", name);
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const stats = lstatSync(directory);
    const isPrivate =
      stats.isDirectory() &&
      stats.uid === userId(stats) &&
      (stats.mode & 0o077) === 0;
    return isPrivate && isOutOfReach(dirname(realpathSync(directory)))
      ? directory
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns the id of this user. Where the system has none, each owner counts as
 * this user.
 */
function userId({ uid }: Stats): number {
  return process.geteuid?.() ?? uid;
}

/**
 * Whether nobody else can replace this user's files in a directory or in one
 * above it. In a sticky directory nobody can.
 */
function isOutOfReach(directory: string): boolean {
  const stats = statSync(directory);
  const isOpen = (stats.mode & 0o002) !== 0 && (stats.mode & 0o1000) === 0;
  if (isOpen || (stats.uid !== 0 && stats.uid !== userId(stats))) return false;
  return dirname(directory) === directory || isOutOfReach(dirname(directory));
}
