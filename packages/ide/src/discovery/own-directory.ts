import { lstat } from "node:fs/promises";

/**
 * Throws when a directory is a link, or another user's, who could put other
 * files in place of ours.
 */
export async function assertOwnDirectory(path: string): Promise<void> {
  const found = await lstat(path);
  if (!found.isDirectory()) throw new Error(`"${path}" is not a directory`);
  const user = process.getuid?.();
  if (user !== undefined && found.uid !== user) {
    throw new Error(`"${path}" belongs to another user`);
  }
}
