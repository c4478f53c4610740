import { constants, type Stats } from "node:fs";
import { mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { failpoint } from "@devtool/internal/failpoint";
import { grants, isOfAnother, OTHERS } from "@devtool/internal/file-access";
import { replaceFile } from "@devtool/internal/replace-file";

const { O_NOFOLLOW, O_RDONLY } = constants;

/**
 * Asserts that nobody else can read or change a data directory, which may be
 * missing.
 *
 * Throws when other users have any permission, or when it belongs to another
 * user.
 */
export async function assertPrivateDirectory(path: string): Promise<void> {
  const problem = problemOf(
    await stat(path).catch(() => undefined),
    path,
    "700",
  );
  if (problem !== undefined) {
    throw new Error(`data directory "${path}" ${problem}`);
  }
}

/**
 * Replaces a file that only its owner may access (mode 0600), and creates its
 * directory when it is missing (mode 0700).
 */
export async function writePrivateFile(
  path: string,
  text: string,
): Promise<void> {
  failpoint("devtool:private-file.write.before");
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await replaceFile(path, text);
  failpoint("devtool:private-file.write.after");
}

/**
 * Reads a file that nobody else can read; undefined when it does not exist.
 *
 * Owner and mode are checked on the open file, so that it cannot be replaced
 * between the check and the reading. Throws when other users have any
 * permission, when the file belongs to another user, and when it cannot be
 * read.
 */
export async function readPrivateFile(
  path: string,
): Promise<string | undefined> {
  try {
    await using file = await open(path, O_RDONLY | O_NOFOLLOW);
    const problem = problemOf(await file.stat(), path, "600");
    if (problem !== undefined) throw new Error(`file "${path}" ${problem}`);
    return await file.readFile("utf8");
  } catch (reason) {
    if (!(reason instanceof Error) || !("code" in reason)) throw reason;
    if (reason.code === "ENOENT") return undefined;
    throw new Error(
      `file "${path}" cannot be read (${reason.message}): ${REMEDIES.get(reason.code) ?? "remove it"}`,
      { cause: reason },
    );
  }
}

/** Remedies for files that cannot be opened, by error code. */
const REMEDIES: ReadonlyMap<unknown, string> = new Map([
  ["EACCES", "run as the user who owns it, or give that user permission"],
  ["ELOOP", "it is a link, remove it"],
]);

function problemOf(
  stats: Stats | undefined,
  path: string,
  mode: string,
): string | undefined {
  if (!stats) return undefined;
  if (isOfAnother(stats)) {
    return `belongs to another user: chown ${process.getuid?.()} ${path}`;
  }
  return grants(stats, OTHERS)
    ? `is open to other users: chmod ${mode} ${path}`
    : undefined;
}
