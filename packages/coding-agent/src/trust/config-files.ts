import { createHash } from "node:crypto";
import { type Dirent, lstatSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type TrustedFile, TrustedFileSchema } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { ConfigChange } from "./trust.ts";

/** The files that tell agents about a directory, in the order they are read. */
export const MEMORY_FILE_NAMES: readonly string[] = ["AGENTS.md", "GEMINI.md"];

/** The directory whose files configure agents. */
export const CONFIG_DIRECTORY = ".devtool";

/** A directory to read configuration from. It follows no link and leads nowhere else, as `Workspace` does. */
export interface ConfigDirectory extends Disposable {
  readFile(path: string): Buffer | undefined;
  readDirectory(path: string): Dirent[] | undefined;
}

/** Bounds on the configuration of one directory; past them nothing of it can be trusted. */
export interface ConfigLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
  readonly maxDepth: number;
}

/** The bounds in use. */
export const CONFIG_LIMITS: ConfigLimits = {
  maxFiles: 500,
  maxFileBytes: 1024 * 1024,
  maxTotalBytes: 4 * 1024 * 1024,
  maxDepth: 8,
};

/**
 * Reads every configuration file of a directory, by path: its memory files and all below `.devtool`. Links and what is
 * no regular file are no configuration. Throws `Code.ResourceExhausted` past a limit.
 */
export function readConfigFiles(
  directory: ConfigDirectory,
  limits: ConfigLimits = CONFIG_LIMITS,
): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>();
  let total = 0;
  for (const path of configPaths(directory, limits)) {
    const content = directory.readFile(path);
    if (!content) continue;
    total += content.length;
    assertWithin(`configuration file ${JSON.stringify(path)}`, content.length, limits.maxFileBytes);
    assertWithin("the configuration of the directory", total, limits.maxTotalBytes);
    files.set(path, content);
    if (files.size > limits.maxFiles) throw tooMuch("the configuration has too many files", limits.maxFiles);
  }
  return files;
}

/**
 * Whether a directory has configuration, by the names in it; opens none of it. A placeholder, which a sandbox puts where
 * something is missing, is no configuration.
 */
export function hasConfig(directory: string, isPlaceholder: (path: string) => boolean): boolean {
  const names = namesIn(directory, [CONFIG_DIRECTORY, ...MEMORY_FILE_NAMES]);
  return names.some((name) => !isPlaceholder(join(directory, name)));
}

/** Which of some names there are in a directory; none when there is no directory. */
export function namesIn(directory: string, names: readonly string[]): string[] {
  return names.filter((name) => lstatSync(join(directory, name), { throwIfNoEntry: false }) !== undefined);
}

/** The hashes of configuration files, sorted by path. */
export function fingerprintsOf(files: ReadonlyMap<string, Buffer>): TrustedFile[] {
  const paths = [...files.keys()].sort();
  return paths.map((path) => create(TrustedFileSchema, { path, sha256: sha256(files.get(path) ?? Buffer.alloc(0)) }));
}

/** Compares configuration files with those that were trusted. */
export function changesSince(trusted: readonly TrustedFile[], files: ReadonlyMap<string, Buffer>): ConfigChange[] {
  const before = new Map(trusted.map(({ path, sha256: hash }) => [path, hash]));
  const removed = [...before.keys()].filter((path) => !files.has(path));
  const differing = [...files].flatMap(([path, content]): ConfigChange[] => {
    const hash = before.get(path);
    if (!hash) return [{ path, how: "added" }];
    return sha256(content).equals(hash) ? [] : [{ path, how: "changed" }];
  });
  return [...differing, ...removed.map((path): ConfigChange => ({ path, how: "removed" }))];
}

/** The SHA-256 of a content. */
export function sha256(content: string | Buffer): Buffer {
  return createHash("sha256").update(content).digest();
}

function* configPaths(directory: ConfigDirectory, limits: ConfigLimits): Iterable<string> {
  const entries = directory.readDirectory("") ?? [];
  for (const name of MEMORY_FILE_NAMES) {
    if (entries.some((entry) => entry.name === name && entry.isFile())) yield name;
  }
  if (entries.some((entry) => entry.name === CONFIG_DIRECTORY && entry.isDirectory())) {
    yield* pathsBelow(directory, CONFIG_DIRECTORY, limits.maxDepth);
  }
}

/** Lists the regular files of a directory and of those below it, at most so many levels. */
function* pathsBelow(directory: ConfigDirectory, path: string, maxDepth: number): Iterable<string> {
  if (path.split("/").length > maxDepth) {
    throw tooMuch(`configuration directory ${JSON.stringify(path)} lies too deep`, maxDepth);
  }
  for (const entry of directory.readDirectory(path) ?? []) {
    const below = `${path}/${entry.name}`;
    if (entry.isFile()) yield below;
    else if (entry.isDirectory()) yield* pathsBelow(directory, below, maxDepth);
  }
}

function assertWithin(subject: string, bytes: number, limit: number): void {
  if (bytes > limit) throw tooMuch(`${subject} has ${bytes} bytes`, limit);
}

function tooMuch(problem: string, limit: number): DevtoolError {
  return new DevtoolError(`${problem}: limit is ${limit}`, Code.ResourceExhausted);
}
