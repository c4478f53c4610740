import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { statsOf } from "./regular-file.ts";

/**
 * The modification time of every placeholder, which no file has by chance.
 *
 * A directory gets another one when something is put into it, so a directory with this time is empty.
 */
const MARK = new Date("2001-03-04T05:06:08Z");
/** Maximum size of a placeholder file in bytes. */
const MAX_FILE_BYTES = 2;

/**
 * Makes a placeholder: an empty directory that gives a sandbox something to mount over while a command runs.
 *
 * Its modification time tells it from other directories, also for other processes and after this one was killed. Does nothing when the path
 * exists or cannot be made: bwrap then reports the problem.
 */
export function makePlaceholder(path: string): void {
  try {
    mkdirSync(path);
    utimesSync(path, MARK, MARK);
  } catch {
    // See above.
  }
}

/** Makes a placeholder that is a file with a content of at most two bytes. Otherwise as `makePlaceholder`. */
export function makeFilePlaceholder(path: string, content: string): void {
  try {
    writeFileSync(path, content, { flag: "wx" });
    utimesSync(path, MARK, MARK);
  } catch {
    // As for directories.
  }
}

/** Returns whether a path is a placeholder directory. Opens nothing. */
export function isPlaceholder(path: string): boolean {
  const stats = statsOf(path);
  return stats?.isDirectory() === true && stats.mtimeMs === MARK.getTime();
}

/** Returns whether a path is a placeholder file. Opens nothing. */
export function isFilePlaceholder(path: string): boolean {
  const stats = statsOf(path);
  return stats?.isFile() === true && stats.size <= MAX_FILE_BYTES && stats.mtimeMs === MARK.getTime();
}
