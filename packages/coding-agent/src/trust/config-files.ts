import { hash } from "node:crypto";
import { type Dirent, lstatSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type TrustedFile, TrustedFileSchema } from "@devtool/schema";
import { Code, DevtoolError } from "@devtool/server/agent";
import type { ConfigChange } from "./trust.ts";

/**
 * The names of memory files, which instruct agents, in the order in which they
 * are read.
 */
export const MEMORY_FILE_NAMES: readonly string[] = ["AGENTS.md", "GEMINI.md"];

/** The name of the directory whose files configure agents. */
const CONFIG_DIRECTORY = ".devtool";

/** The directory of agent files, which Gemini CLI has too. */
export const AGENT_DIRECTORY = ".gemini/agents";

/**
 * A directory to read configuration from. Like `Workspace`, it does not follow
 * symbolic links.
 */
export interface ConfigDirectory extends Disposable {
  readFile(path: string): Buffer | undefined;
  readDirectory(path: string): Dirent[] | undefined;
}

/**
 * Limits on the configuration of one directory. Configuration that exceeds one
 * of them cannot be trusted.
 */
export interface ConfigLimits {
  readonly maxFiles: number;
  readonly maxFileBytes: number;
  readonly maxTotalBytes: number;
  readonly maxDepth: number;
}

/** The limits that the agent uses. */
const CONFIG_LIMITS: ConfigLimits = {
  maxFiles: 500,
  maxFileBytes: 1024 * 1024,
  maxTotalBytes: 4 * 1024 * 1024,
  maxDepth: 8,
};

/**
 * Reads the configuration files of a directory: its memory files, all files
 * below `.devtool`, and the agents in `.gemini/agents`, by path.
 *
 * Ignores symbolic links and other entries that are not regular files. Throws
 * `Code.ResourceExhausted` when the configuration exceeds a limit.
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
    if (content.length > limits.maxFileBytes) {
      const problem = `configuration file ${JSON.stringify(path)} has ${content.length} bytes`;
      throw limitExceeded(problem, limits.maxFileBytes);
    }
    if (total > limits.maxTotalBytes) {
      throw limitExceeded(
        `the configuration of the directory has ${total} bytes`,
        limits.maxTotalBytes,
      );
    }
    files.set(path, content);
    if (files.size > limits.maxFiles) {
      throw limitExceeded(
        "the configuration has too many files",
        limits.maxFiles,
      );
    }
  }
  return files;
}

/**
 * Returns whether a directory contains entries with the names of configuration,
 * without opening any of them.
 *
 * Ignores placeholders, which a sandbox creates in place of missing files.
 */
export function hasConfig(
  directory: string,
  isPlaceholder: (path: string) => boolean,
): boolean {
  const names = namesIn(directory, [
    ...[CONFIG_DIRECTORY, AGENT_DIRECTORY],
    ...MEMORY_FILE_NAMES,
  ]);
  return names.some((name) => !isPlaceholder(join(directory, name)));
}

/**
 * Returns those of `names` that exist in a directory. Empty when the directory
 * does not exist.
 */
export function namesIn(directory: string, names: readonly string[]): string[] {
  return names.filter(
    (name) =>
      lstatSync(join(directory, name), { throwIfNoEntry: false }) !== undefined,
  );
}

/** Returns the SHA-256 hashes of configuration files, sorted by path. */
export function fingerprintsOf(
  files: ReadonlyMap<string, Buffer>,
): TrustedFile[] {
  const sorted = [...files].sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([path, content]) =>
    create(TrustedFileSchema, {
      path,
      sha256: hash("sha256", content, "buffer"),
    }),
  );
}

/**
 * Lists the differences between the trusted configuration files and the current
 * ones.
 */
export function changesSince(
  trusted: readonly TrustedFile[],
  files: ReadonlyMap<string, Buffer>,
): ConfigChange[] {
  const before = new Map(trusted.map(({ path, sha256 }) => [path, sha256]));
  const removed = [...before.keys()].filter((path) => !files.has(path));
  const differing = [...files].flatMap(([path, content]): ConfigChange[] => {
    const trustedHash = before.get(path);
    if (!trustedHash) return [{ path, how: "added" }];
    return hash("sha256", content, "buffer").equals(trustedHash)
      ? []
      : [{ path, how: "changed" }];
  });
  return [
    ...differing,
    ...removed.map((path): ConfigChange => ({ path, how: "removed" })),
  ];
}

function* configPaths(
  directory: ConfigDirectory,
  limits: ConfigLimits,
): Iterable<string> {
  const entries = directory.readDirectory("") ?? [];
  for (const name of MEMORY_FILE_NAMES) {
    if (entries.some((entry) => entry.name === name && entry.isFile())) {
      yield name;
    }
  }
  if (
    entries.some(
      (entry) => entry.name === CONFIG_DIRECTORY && entry.isDirectory(),
    )
  ) {
    yield* pathsBelow(directory, CONFIG_DIRECTORY, limits.maxDepth);
  }
  if (
    entries.some((entry) => entry.name === ".gemini" && entry.isDirectory())
  ) {
    for (const entry of directory.readDirectory(AGENT_DIRECTORY) ?? []) {
      const path = `${AGENT_DIRECTORY}/${entry.name}`;
      if (entry.isFile() && path.endsWith(".md")) yield path;
    }
  }
}

/**
 * Lists the regular files in a directory and its subdirectories. Throws for a
 * path of more than `maxDepth` segments.
 */
function* pathsBelow(
  directory: ConfigDirectory,
  path: string,
  maxDepth: number,
): Iterable<string> {
  if (path.split("/").length > maxDepth) {
    throw limitExceeded(
      `configuration directory ${JSON.stringify(path)} is nested too deeply`,
      maxDepth,
    );
  }
  for (const entry of directory.readDirectory(path) ?? []) {
    const below = `${path}/${entry.name}`;
    if (entry.isFile()) {
      yield below;
    } else if (entry.isDirectory()) {
      yield* pathsBelow(directory, below, maxDepth);
    }
  }
}

function limitExceeded(problem: string, limit: number): DevtoolError {
  return new DevtoolError(
    `${problem}: limit is ${limit}`,
    Code.ResourceExhausted,
  );
}
