import { fsyncSync } from "node:fs";

/**
 * Waits until the names in an open directory are on disk. Does nothing on
 * Windows, which syncs no directories: its journal keeps renames in order.
 */
export function syncDirectory(fd: number): void {
  if (process.platform !== "win32") fsyncSync(fd);
}
