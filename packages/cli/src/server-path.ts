import { resolve, win32 } from "node:path";

/**
 * Returns a path that a user has written, for a server, which may run on
 * another system: one that is absolute there or here as it is, and one that is
 * relative from this process's directory.
 */
export function serverPath(path: string): string {
  // Also absolute on Windows: the absolute paths of other systems.
  return win32.isAbsolute(path) ? path : resolve(path);
}
