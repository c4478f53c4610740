import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  type Stats,
} from "node:fs";
import { directoryAccess } from "@devtool/internal/directory-access";

/**
 * Reads a regular file whose path a workspace chose; undefined for one that
 * does not exist or cannot be read, and for anything else.
 *
 * Does not wait on a pipe. Follows links, as git does, unless they are refused:
 * then the path of the opened file must be the given one.
 */
export function readRegularFile(
  path: string,
  maxBytes: number,
  links: "follow links" | "refuse links" = "follow links",
): Buffer | "too large" | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(
      path,
      constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
    const stats = fstatSync(fd);
    if (!stats.isFile()) return undefined;
    if (
      links === "refuse links" &&
      directoryAccess.realPath(fd, path) !== path
    ) {
      return undefined;
    }
    return stats.size > maxBytes ? "too large" : readFileSync(fd);
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/**
 * Returns the stats of a path, or of the link that it is; undefined when it
 * does not exist, also when a directory on the way to it is a file.
 */
export function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (reason) {
    if (
      reason instanceof Error &&
      "code" in reason &&
      reason.code === "ENOTDIR"
    ) {
      return undefined;
    }
    throw reason;
  }
}
