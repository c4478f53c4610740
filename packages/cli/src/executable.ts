/**
 * The main script of the single executable. It unpacks the command, once for
 * each user and release, and runs it.
 */
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire, isBuiltin, registerHooks } from "node:module";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { getAsset, getAssetKeys, getRawAsset } from "node:sea";
import { pathToFileURL } from "node:url";
import { isOfAnother } from "@devtool/internal/file-access";
import { isOtherProcess } from "@devtool/internal/other-process";
import { cacheDirectory } from "./cache-directory.ts";

/** The age from which on files are those of a start that was killed. */
const STALE_MS = 3_600_000;

const command = join(realpathSync(commandDirectory()), "main.js");
refusePackages(dirname(command));
createRequire(command)(command);

/** Returns the directory of the command's files, which only this user can change. */
function commandDirectory(): string {
  const kept = cacheDirectory("program", process.env);
  if (kept === undefined) {
    const directory = unpack(tmpdir());
    process.once("exit", () => rmSync(directory, { recursive: true }));
    return directory;
  }
  const directory = join(kept, getAsset("digest", "utf8"));
  if (existsSync(directory)) return directory;
  const unpacked = unpack(kept);
  try {
    renameSync(unpacked, directory);
  } catch (reason) {
    rmSync(unpacked, { recursive: true });
    // Another start was quicker.
    if (!existsSync(directory)) throw reason;
  }
  return directory;
}

/** Writes the files of the command into a new directory. */
function unpack(parent: string): string {
  removeStale(parent);
  const directory = mkdtempSync(join(parent, `devtool-${process.pid}-`));
  try {
    for (const name of getAssetKeys()) {
      const path = join(directory, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, new Uint8Array(getRawAsset(name)));
    }
    return directory;
  } catch (reason) {
    rmSync(directory, { recursive: true });
    throw reason;
  }
}

/** Removes this user's directories of starts that were killed. */
function removeStale(parent: string): void {
  for (const name of readdirSync(parent)) {
    const [, pid] = /^devtool-(\d+)-\w{6}$/.exec(name) ?? [];
    if (pid === undefined || isOtherProcess(Number(pid))) continue;
    const path = join(parent, name);
    try {
      const stats = lstatSync(path);
      const isStale = Date.now() - stats.mtimeMs > STALE_MS;
      if (isStale && !isOfAnother(stats)) rmSync(path, { recursive: true });
    } catch {
      // Another start removes it.
    }
  }
}

/**
 * Refuses packages to the files of a directory. The command has its libraries
 * in it, and Node would look for those that it can do without in each directory
 * above, such as /tmp, where any user can make a `node_modules`.
 */
function refusePackages(directory: string): void {
  const files = `${pathToFileURL(directory)}/`;
  registerHooks({
    resolve(name, context, next) {
      const isPackage = !(
        name.startsWith(".") ||
        isAbsolute(name) ||
        isBuiltin(name) ||
        URL.canParse(name)
      );
      if (isPackage && context.parentURL?.startsWith(files)) {
        throw new Error(`package "${name}" is not in this executable`);
      }
      return next(name, context);
    },
  });
}
