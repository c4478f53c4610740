import { randomInt } from "node:crypto";
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
 * The modification time of every placeholder, which no file has by chance. Its
 * microseconds say who holds it.
 *
 * A directory gets another time when something is put into it, so a directory
 * with this one is empty.
 */
const MARK_MS = Date.parse("2001-03-04T05:06:08Z");
/** The number of holders that can be told apart. */
const HOLDERS = 900_000;
/** The holder of a placeholder that each of them may remove. */
const NOBODY = 0;
/** Maximum size of a placeholder file in bytes. */
const MAX_FILE_BYTES = 2;

/** Returns a number for one of those who hold placeholders of a workspace. */
export function newHolder(): number {
  return randomInt(NOBODY + 1, HOLDERS);
}

/**
 * Makes a placeholder: an empty directory that gives a sandbox something to
 * mount over while a command runs. One that is there becomes the holder's, who
 * has not mounted anything yet: nobody else removes it.
 *
 * Its modification time distinguishes it from other directories, also for other
 * processes and after this one was killed. Does nothing when something else is
 * at the path, or nothing can be made: bwrap then reports the problem.
 */
export function makePlaceholder(path: string, holder: number): void {
  make(path, holder, (held) => {
    if (!isPlaceholder(held)) mkdirSync(held);
  });
}

/**
 * Makes a placeholder that is a file with a content of at most two bytes.
 * Otherwise as `makePlaceholder`.
 */
export function makeFilePlaceholder(
  path: string,
  content: string,
  holder: number,
): void {
  make(path, holder, (held) => {
    if (!isFilePlaceholder(held)) writeFileSync(held, content, { flag: "wx" });
  });
}

function make(
  path: string,
  holder: number,
  putThere: (held: string) => void,
): void {
  try {
    inOpenedDirectory(path, (held) => {
      putThere(held);
      mark(held, holder);
    });
  } catch {
    // bwrap reports the problem.
  }
}

/**
 * Removes a placeholder of this holder or of nobody, unless somebody has put
 * something into it or in its place.
 */
export function removePlaceholder(path: string, holder: number): void {
  try {
    inOpenedDirectory(path, (held) => {
      if (![holder, NOBODY].includes(holderOf(held))) return;
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
 * Gives up a placeholder of this holder that a command of another one still
 * needs, who then removes it.
 */
export function giveUpPlaceholder(path: string, holder: number): void {
  try {
    inOpenedDirectory(path, (held) => {
      if (holderOf(held) === holder) mark(held, NOBODY);
    });
  } catch {
    // It does not exist any more.
  }
}

function mark(path: string, holder: number): void {
  const seconds = (MARK_MS + holder / 1000) / 1000;
  lutimesSync(path, seconds, seconds);
}

/** Returns the holder of a placeholder; of anything else some other number. */
function holderOf(path: string): number {
  return Math.round(((statsOf(path)?.mtimeMs ?? 0) - MARK_MS) * 1000);
}

function isMarked(path: string): boolean {
  const holder = holderOf(path);
  return holder >= NOBODY && holder < HOLDERS;
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
  return statsOf(path)?.isDirectory() === true && isMarked(path);
}

/** Returns whether a path is a placeholder file. Opens nothing. */
export function isFilePlaceholder(path: string): boolean {
  const stats = statsOf(path);
  return (
    stats?.isFile() === true && stats.size <= MAX_FILE_BYTES && isMarked(path)
  );
}
