import { readdirSync } from "node:fs";
import { posix } from "node:path";
import { readRegularFile } from "./regular-file.ts";

/** Commands of git that compare files with the index, which runs the filters that attributes name (gitattributes(5)). */
const COMPARING: ReadonlySet<string> = new Set(["status", "diff", "ls-files", "describe"]);
const CONFIGS = [".git/config", ".git/config.worktree"];
const MAX_CONFIG_BYTES = 1024 * 1024;
/** A larger index may have gitlinks: it is not searched while everything waits. That of a hundred thousand files has some 10 MiB. */
const MAX_INDEX_BYTES = 8 * 1024 * 1024;

/**
 * Returns whether a command makes git run programs of the workspace's repository, which print what they like of its files:
 * filters, or settings of other files and of submodules, where filters may stand. Reads the repository's configuration.
 */
export function runsRepositoryFilters([program = "", ...args]: readonly string[], workspace: string): boolean {
  if (posix.basename(program) !== "git" || !args.some((word) => COMPARING.has(word))) return false;
  return CONFIGS.some((name) => namesFilters(posix.join(workspace, name))) || mayHaveGitlinks(workspace);
}

function namesFilters(path: string): boolean {
  const content = readRegularFile(path, MAX_CONFIG_BYTES);
  return content === "too large" || /\[\s*(filter|include)/i.test(content?.toString("latin1") ?? "");
}

/** Whether an index of the repository may name one of a submodule. Of a split index most entries lie in `sharedindex.*`. */
function mayHaveGitlinks(workspace: string): boolean {
  const git = posix.join(workspace, ".git");
  const indexes = namesIn(git).filter((name) => /^(index|sharedindex\.[0-9a-f]+)$/.test(name));
  return indexes.some((name) => {
    const index = readRegularFile(posix.join(git, name), MAX_INDEX_BYTES);
    return index === "too large" || (index !== undefined && mayHoldGitlink(index));
  });
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // There is no repository, or it lies elsewhere: the sandbox shows none then.
    return [];
  }
}

/** The mode of an entry that is a repository of its own (gitformat-index, "Index entry"). */
const GITLINK = Buffer.from([0, 0, 0xe0, 0]);
/** Entries up to version 3 begin 12 bytes after the start and have a multiple of eight bytes; the mode is 24 bytes into one. */
const MODE_OFFSET = (12 + 24) % 8;

/** Looks for the bytes of that mode where one can stand, and reads no entries: other fields that hold them count too. */
function mayHoldGitlink(index: Buffer): boolean {
  if (index.toString("latin1", 0, 4) !== "DIRC" || index.length < 8) return false;
  const isAligned = index.readUInt32BE(4) < 4;
  for (let at = index.indexOf(GITLINK); at >= 0; at = index.indexOf(GITLINK, at + 1))
    if (!isAligned || at % 8 === MODE_OFFSET) return true;
  return false;
}
