import { lstat } from "node:fs/promises";

/**
 * Throws when a directory is a link, or another user's, who could put other
 * files in place of ours.
 */
export async function assertOwnDirectory(path: string): Promise<void> {
  const found = await lstat(path);
  if (found.isSymbolicLink()) {
    throw new Error(`"${path}" is a link, which may lead to others' files`);
  }
  if (!found.isDirectory()) throw new Error(`"${path}" is not a directory`);
  const user = process.getuid?.();
  if (user !== undefined && found.uid !== user) {
    throw new Error(`"${path}" belongs to another user (${found.uid})`);
  }
}

/**
 * Returns why a directory is not the user's own; undefined when it is, or is
 * missing.
 */
export async function faultOfDirectory(
  path: string,
): Promise<string | undefined> {
  return await assertOwnDirectory(path).then(
    () => undefined,
    (reason) =>
      reason instanceof Error && !("code" in reason && reason.code === "ENOENT")
        ? reason.message
        : undefined,
  );
}
