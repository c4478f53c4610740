/**
 * The main script of the single executable. It unpacks the command, once for
 * each user and release, and runs it.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { getAsset, getAssetKeys, getRawAsset } from "node:sea";
import { cacheDirectory } from "./cache-directory.ts";

const command = join(commandDirectory(), "main.js");
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
  const directory = mkdtempSync(join(parent, "devtool-"));
  for (const name of getAssetKeys()) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, new Uint8Array(getRawAsset(name)));
  }
  return directory;
}
