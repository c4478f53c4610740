import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
} from "node:fs";
import { posix } from "node:path";

/**
 * The commands of git that compare files with the index, and so run the filters
 * that attributes name (gitattributes(5)).
 */
const COMPARING: ReadonlySet<string> = new Set([
  "status",
  "diff",
  "ls-files",
  "describe",
]);
const CONFIGS = [".git/config", ".git/config.worktree"];
const MAX_CONFIG_BYTES = 1024 * 1024;
/**
 * The maximum size of an index that is searched; a larger one counts as if it
 * had submodules.
 *
 * The search blocks the process. The index of a hundred thousand files has
 * about 10 MiB.
 */
const MAX_INDEX_BYTES = 8 * 1024 * 1024;
/**
 * The mode of an entry that is a submodule (gitformat-index(5), "Index entry").
 */
const GITLINK = Buffer.from([0, 0, 0xe0, 0]);
/**
 * In versions 2 and 3 the entries begin at byte 12 and are padded to eight
 * bytes; the mode is at byte 24 of an entry.
 */
const MODE_OFFSET = (12 + 24) % 8;

/**
 * Returns whether a command makes git run programs that the workspace's
 * repository names, which can print any file.
 *
 * Such programs are filters. They stand in the repository's configuration, in
 * files that it includes, or in the configuration of a submodule: a repository
 * that includes files, takes its configuration from elsewhere or may have
 * submodules counts as having filters.
 */
export function runsRepositoryFilters(
  [program = "", ...args]: readonly string[],
  workspace: string,
): boolean {
  if (
    posix.basename(program) !== "git" ||
    !args.some((word) => COMPARING.has(word))
  ) {
    return false;
  }
  if (existsSync(posix.join(workspace, ".git/commondir"))) return true;
  const mayNameFilters = CONFIGS.some((name) => {
    const content = readRegularFile(
      posix.join(workspace, name),
      MAX_CONFIG_BYTES,
    );
    return (
      content === "too large" ||
      /\[\s*(filter|include)/i.test(content?.toString("latin1") ?? "")
    );
  });
  return mayNameFilters || mayHaveSubmodules(posix.join(workspace, ".git"));
}

/**
 * Returns whether an index of the repository may name a submodule. Most entries
 * of a split index are in `sharedindex.*`.
 */
function mayHaveSubmodules(gitDirectory: string): boolean {
  let names: string[];
  try {
    names = readdirSync(gitDirectory);
  } catch {
    // There is no repository, or it is elsewhere: then the sandbox shows none.
    return false;
  }
  const indexes = names.filter((name) =>
    /^(index|sharedindex\.[0-9a-f]+)$/.test(name),
  );
  return indexes.some((name) => {
    const index = readRegularFile(
      posix.join(gitDirectory, name),
      MAX_INDEX_BYTES,
    );
    if (index === "too large") return true;
    if (index?.toString("latin1", 0, 4) !== "DIRC" || index.length < 8) {
      return false;
    }
    // The entries are not parsed, so other fields with the bytes of the mode
    // count too.
    const isAligned = index.readUInt32BE(4) < 4;
    for (
      let at = index.indexOf(GITLINK);
      at >= 0;
      at = index.indexOf(GITLINK, at + 1)
    ) {
      if (!isAligned || at % 8 === MODE_OFFSET) return true;
    }
    return false;
  });
}

/**
 * Reads a file of the repository. Follows links, as git does, and never blocks
 * on a pipe.
 *
 * Undefined for a path that does not exist, cannot be read or is not a regular
 * file.
 */
function readRegularFile(
  path: string,
  maxBytes: number,
): Buffer | "too large" | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(
      path,
      constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
    );
    const stats = fstatSync(fd);
    if (!stats.isFile()) return undefined;
    return stats.size > maxBytes ? "too large" : readFileSync(fd);
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
