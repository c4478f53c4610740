import type { Stats } from "node:fs";

/** Permission bits: of all but the owner, and those of them to write. */
export const OTHERS = 0o077;
export const OTHERS_WRITE = 0o022;

/** Permission bit: everybody may write. */
export const EVERYBODY_WRITES = 0o002;

/**
 * Whether permission bits and owners say who can access a file. Windows has
 * access control lists, which Node does not show: each file there has the mode
 * 0666 and the owner 0.
 */
function hasModes(platform: NodeJS.Platform): boolean {
  return platform !== "win32";
}

/**
 * Whether a file has one of these permission bits. False where the system has
 * none, so that nothing can be said (`accessUnknown`).
 */
export function grants(
  { mode }: Pick<Stats, "mode">,
  bits: number,
  platform: NodeJS.Platform = process.platform,
): boolean {
  return hasModes(platform) && (mode & bits) !== 0;
}

/**
 * Whether a file belongs to another user than this process's. False where the
 * system does not tell.
 */
export function isOfAnother(
  { uid }: Pick<Stats, "uid">,
  platform: NodeJS.Platform = process.platform,
): boolean {
  return hasModes(platform) && uid !== process.getuid?.();
}

/**
 * Says what is not known of the files of the server; empty where permission
 * bits say it.
 */
export function accessUnknown(
  platform: NodeJS.Platform = process.platform,
): string {
  return hasModes(platform)
    ? ""
    : "this system shows no permission bits, so whether other users can read or change the server's files is not checked: keep them below your own profile";
}
