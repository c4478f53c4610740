import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";

/**
 * Returns the real path of a path; undefined when nothing is there, as for an empty path. Synchronous,
 * because the call takes microseconds, less than a round trip through a thread.
 */
export function realPath(path: string): string | undefined {
  if (path === "") return undefined;
  try {
    return realpathSync.native(resolve(path));
  } catch {
    return undefined;
  }
}

/** Returns a real path when it is a directory, otherwise undefined. */
export function directoryAt(real: string | undefined): string | undefined {
  const found = real === undefined ? undefined : statSync(real, { throwIfNoEntry: false });
  return found?.isDirectory() ? real : undefined;
}
