import { closeSync, constants, fstatSync, openSync, readFileSync, readlinkSync } from "node:fs";

/**
 * Reads a file that a workspace chose, without waiting on a pipe: also through links, as git does, unless they are refused, which
 * compares where the opened file is with its path. Undefined for what is not there, may not be read or is not a regular file.
 */
export function readRegularFile(
  path: string,
  maxBytes: number,
  links: "follow links" | "refuse links" = "follow links",
): Buffer | "too large" | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    const stats = fstatSync(fd);
    if (!stats.isFile()) return undefined;
    if (links === "refuse links" && readlinkSync(`/proc/self/fd/${fd}`) !== path) return undefined;
    return stats.size > maxBytes ? "too large" : readFileSync(fd);
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
