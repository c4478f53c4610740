import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";

/**
 * Reads a file that a workspace chose, also through links, as git does: without waiting on a pipe. Undefined for what is
 * not there, may not be read or is not a regular file.
 */
export function readRegularFile(path: string, maxBytes: number): Buffer | "too large" | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    const stats = fstatSync(fd);
    if (!stats.isFile()) return undefined;
    return stats.size > maxBytes ? "too large" : readFileSync(fd);
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
