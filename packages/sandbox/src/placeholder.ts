import { lstatSync, mkdirSync, utimesSync, writeFileSync } from "node:fs";

/**
 * When each placeholder was last changed, as it says: a time that no file has by chance. Putting something into the
 * directory changes it, so one that has it is empty.
 */
const MARK = new Date("2001-03-04T05:06:08Z");
/** The maximum size of a file that is one. */
const MAX_FILE_BYTES = 2;

/**
 * Makes an empty directory that stands in a workspace while a sandboxed command runs, so that something can be mounted over a name
 * that is not there. What it looks like says that it is one: to other processes, and after its own was killed. Does
 * nothing when the name is taken.
 */
export function makePlaceholder(path: string): void {
  try {
    mkdirSync(path);
    utimesSync(path, MARK, MARK);
  } catch {
    // It is there already, or cannot be made: then the sandbox says why.
  }
}

/** Makes a file for the same purpose, of at most two bytes. */
export function makeFilePlaceholder(path: string, content: string): void {
  try {
    writeFileSync(path, content, { flag: "wx" });
    utimesSync(path, MARK, MARK);
  } catch {
    // As above.
  }
}

/** Whether a path is an empty directory that a sandbox put there. Opens nothing. */
export function isPlaceholder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.mtimeMs === MARK.getTime();
}

/** Whether a path is a file that a sandbox put there. Opens nothing. */
export function isFilePlaceholder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isFile() === true && stats.size <= MAX_FILE_BYTES && stats.mtimeMs === MARK.getTime();
}
