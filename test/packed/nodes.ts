import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** A version of Node, or why it cannot be had here. */
export type FoundNode =
  | { readonly program: string }
  | { readonly program: undefined; readonly reason: string };

/** The oldest of `engines`. */
export const OLDEST = "22.19.0";

const KEPT = fileURLToPath(
  new URL("../../node_modules/.cache/devtool-nodes/", import.meta.url),
);

/**
 * Finds a version of Node in the cache of the clone, and else installs it there
 * from npm.
 */
export async function findNode(version: string): Promise<FoundNode> {
  const name = `node-${process.platform}-${process.arch}`;
  const directory = join(KEPT, version);
  const program = join(directory, "node_modules", name, "bin/node");
  if (existsSync(program)) return { program };
  const unfinished = `${directory}-${process.pid}`;
  try {
    await mkdir(unfinished, { recursive: true });
    const args = [
      "install",
      "--silent",
      "--no-save",
      "--prefix",
      unfinished,
      `${name}@${version}`,
    ];
    await promisify(execFile)("npm", args, { timeout: 120_000 });
    await rename(unfinished, directory);
    return { program };
  } catch (reason) {
    await rm(unfinished, { recursive: true, force: true });
    return {
      program: undefined,
      reason: `Node ${version} cannot be had from npm: ${String(reason).split("\n")[0]}`,
    };
  }
}
