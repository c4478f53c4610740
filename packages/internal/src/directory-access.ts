import {
  type BigIntStats,
  closeSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { dirname } from "node:path";

/**
 * How the entries of an open directory are reached, since Node has no
 * `openat`.
 */
export interface DirectoryAccess {
  readonly mechanism: "descriptors" | "checked paths";
  /**
   * `kernel`: an entry of an open directory is in that directory, whatever
   * another process does meanwhile.
   *
   * `checked`: paths are compared before and after each use. A process that
   * replaces a directory by a link at that moment is noticed afterwards: by then
   * an empty file or a directory may have been made, or a file removed or
   * renamed, where the link leads.
   */
  readonly strength: "kernel" | "checked";
  /**
   * Returns the path by which an open file or directory is reached; undefined
   * when it is not at its path any more.
   *
   * @param path its path: the real path of a directory, and a name in it
   */
  reach(fd: number, path: string): string | undefined;
  /**
   * Returns the real path of an open file or directory; undefined when it is not
   * known, because it is not at its path any more.
   */
  realPath(fd: number, path: string): string | undefined;
}

/** Through the descriptors that `/proc` shows, as on Linux. */
export const descriptorAccess: DirectoryAccess = {
  mechanism: "descriptors",
  strength: "kernel",
  reach: (fd) => `/proc/self/fd/${fd}`,
  realPath: (fd) => readlinkSync(`/proc/self/fd/${fd}`),
};

/** By paths, where there is no such `/proc`: macOS, Windows. */
export const checkedAccess: DirectoryAccess = {
  mechanism: "checked paths",
  strength: "checked",
  reach: realPathIfSame,
  realPath: realPathIfSame,
};

/** The strongest access that works in this process. */
export const directoryAccess: DirectoryAccess = showsDescriptors()
  ? descriptorAccess
  : checkedAccess;

/**
 * Says what an access does not promise; empty for the strongest one. Without an
 * end, so that it can be part of a sentence.
 */
export function accessWeakness({
  mechanism,
  strength,
}: DirectoryAccess): string {
  return strength === "kernel"
    ? ""
    : `the workspace is confined by ${mechanism}, since this system shows no descriptors in /proc: a process that swaps a directory for a link at the right moment can make the server create an empty file, or remove or rename a file, outside of it`;
}

/**
 * The number of times that a path is compared. A process that swaps a directory
 * for a link and back must hit the moment between two system calls each time.
 */
const ROUNDS = 8;

function realPathIfSame(fd: number, path: string): string | undefined {
  const opened = fstatSync(fd, { bigint: true });
  let real: string | undefined;
  for (let round = 0; round < ROUNDS; round++) {
    real = realPathOf(path);
    // The name itself may be written in another case than it is stored.
    if (real === undefined || dirname(real) !== dirname(path)) return undefined;
    const there = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    if (!there || !isSameFile(there, opened)) return undefined;
  }
  return real;
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

/** A link has an inode of its own, so it is never the file that it leads to. */
function isSameFile(one: BigIntStats, other: BigIntStats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}

function showsDescriptors(): boolean {
  let fd: number | undefined;
  try {
    fd = openSync("/", "r");
    return descriptorAccess.realPath(fd, "/") === "/";
  } catch {
    return false;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
