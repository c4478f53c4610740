import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { failpoint } from "@devtool/internal/failpoint";
import { errorCode } from "./errors.ts";

/**
 * Makes the directory of a workspace if it is missing. Returns whether it was
 * there.
 *
 * Throws if its parent is missing too, as that of a misspelled path often is,
 * and if it is a file.
 *
 * @param path an absolute path
 */
export async function ensureWorkspace(
  path: string,
): Promise<"existing" | "new"> {
  const kind = await kindOf(path);
  if (kind === "file") {
    throw new Error(
      `workspace "${path}" is a file: choose a directory with --workspace`,
    );
  }
  failpoint("devtool:workspace.make.before");
  try {
    if (kind === undefined) await mkdir(path);
  } catch (reason) {
    // A server that starts at the same moment may have made it.
    if (errorCode(reason) === "EEXIST") return "existing";
    const parent = dirname(path);
    throw new Error(
      errorCode(reason) === "ENOENT"
        ? `workspace "${path}" cannot be made, because "${parent}" does not exist: check the spelling of --workspace, or make that directory first`
        : `workspace "${path}" cannot be made in "${parent}" (${errorCode(reason)}): choose another directory with --workspace`,
      { cause: reason },
    );
  }
  failpoint("devtool:workspace.make.after");
  return kind === undefined ? "new" : "existing";
}

/**
 * Asserts that the directory of an option exists.
 *
 * @param option the option without its dashes
 */
export async function assertDirectory(
  option: "root" | "workspace",
  path: string,
): Promise<void> {
  const kind = await kindOf(path);
  if (kind === "directory") return;
  const problem = kind === "file" ? "is a file" : "does not exist";
  throw new Error(
    `${option} "${path}" ${problem}: name an existing directory with --${option}`,
  );
}

/** Returns what there is at a path; undefined for nothing. */
async function kindOf(path: string): Promise<"directory" | "file" | undefined> {
  try {
    return (await stat(path)).isDirectory() ? "directory" : "file";
  } catch (reason) {
    const code = errorCode(reason);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw reason;
  }
}
