import { realpath } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isInside } from "@devtool/server/operator";
import { errorCode } from "./errors.ts";

/**
 * Asserts that an agent may work in at least one of the workspace roots. Any of
 * the directories may still be missing.
 *
 * No session may work in a directory that holds the data directory or lies in
 * it, so a server with only such roots would refuse every message that names no
 * other directory.
 *
 * @param roots the default workspace, and further roots
 */
export async function assertUsableRoots(
  roots: readonly string[],
  data: string,
): Promise<void> {
  const realData = await realPathOf(data);
  const problems = await Promise.all(
    roots.map(async (root) => {
      const workspace = await realPathOf(root);
      if (isInside(workspace, realData)) {
        return "contains the server's own data";
      }
      return isInside(realData, workspace)
        ? "lies in the server's own data"
        : undefined;
    }),
  );
  const [problem] = problems;
  if (problem === undefined || problems.includes(undefined)) return;
  throw new Error(
    `workspace "${roots[0]}" ${problem} "${data}": choose a project's directory with --workspace, or name one with --root`,
  );
}

/**
 * Returns a path without symbolic links. What is missing at its end stays as it
 * is.
 */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (reason) {
    if (errorCode(reason) !== "ENOENT") throw reason;
    return join(await realPathOf(dirname(path)), basename(path));
  }
}
