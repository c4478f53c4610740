import {
  closeSync,
  constants,
  lutimesSync,
  mkdirSync,
  openSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname } from "node:path";
import { statsOf } from "./regular-file.ts";

/**
 * The modification time of every placeholder, which no file has by chance.
 *
 * A directory gets another time when something is put into it, so a directory
 * with this one is empty.
 */
const MARK = new Date("2001-03-04T05:06:08Z");
/** Maximum size of a placeholder file in bytes. */
const MAX_FILE_BYTES = 2;

/**
 * Makes a placeholder: an empty directory that gives a sandbox something to
 * mount over while a command runs.
 *
 * Its modification time distinguishes it from other directories, also for other
 * processes and after this one was killed. Does nothing when the path exists or
 * cannot be made: bwrap then reports the problem.
 */
export function makePlaceholder(path: string): void {
  try {
    inOpenedDirectory(path, (held) => {
      mkdirSync(held);
      lutimesSync(held, MARK, MARK);
    });
  } catch {
    // bwrap reports the problem.
  }
}

/**
 * Makes a placeholder that is a file with a content of at most two bytes.
 * Otherwise as `makePlaceholder`.
 */
export function makeFilePlaceholder(path: string, content: string): void {
  try {
    inOpenedDirectory(path, (held) => {
      writeFileSync(held, content, { flag: "wx" });
      lutimesSync(held, MARK, MARK);
    });
  } catch {
    // bwrap reports the problem.
  }
}

/**
 * Removes a placeholder, unless somebody has put something into it or in its
 * place.
 */
export function removePlaceholder(path: string): void {
  try {
    inOpenedDirectory(path, (held) => {
      if (isFilePlaceholder(held)) {
        rmSync(held);
      } else if (isPlaceholder(held)) {
        rmdirSync(held);
      }
    });
  } catch {
    // It is not empty, or does not exist any more.
  }
}

/**
 * Opens the directory of a path and calls a function with a path to the same
 * file in it.
 *
 * The result is in that directory even if another process renames it or puts a
 * link in its place meanwhile. Throws for a directory that is reached through a
 * link.
 */
export function inOpenedDirectory(
  path: string,
  use: (path: string) => void,
): void {
  const directory = dirname(path);
  const fd = openSync(
    directory,
    constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
  );
  try {
    const opened = `/proc/self/fd/${fd}`;
    if (readlinkSync(opened) !== directory) {
      throw new Error(`${JSON.stringify(directory)} is reached through a link`);
    }
    use(`${opened}/${basename(path)}`);
  } finally {
    closeSync(fd);
  }
}

/**
 * Returns whether a path is a placeholder directory: an empty one that a
 * sandbox has made to mount something over it while a command runs. Code that
 * lists a workspace leaves it out. Opens nothing.
 */
export function isPlaceholder(path: string): boolean {
  const stats = statsOf(path);
  return stats?.isDirectory() === true && stats.mtimeMs === MARK.getTime();
}

/** Returns whether a path is a placeholder file. Opens nothing. */
export function isFilePlaceholder(path: string): boolean {
  const stats = statsOf(path);
  return (
    stats?.isFile() === true &&
    stats.size <= MAX_FILE_BYTES &&
    stats.mtimeMs === MARK.getTime()
  );
}
