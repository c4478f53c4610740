import { constants, lstatSync, readdirSync, readlinkSync } from "node:fs";
import { open } from "node:fs/promises";
import { posix } from "node:path";
import { GitlinkParser } from "./gitlink-parser.ts";
import { readRegularFile } from "./regular-file.ts";
import { SandboxError } from "./sandbox-error.ts";

/** Maximum size of a configuration or `.git` file in bytes. Larger ones are not read. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;

/** Maximum size of an index in bytes. That of a million files has about 100 MiB. */
const MAX_INDEX_BYTES = 512 * 1024 * 1024;
/** Size of the pieces in which an index is read, in bytes. The event loop runs between two pieces. */
const PIECE_BYTES = 256 * 1024;
/** Maximum depth of repositories in each other. */
const MAX_DEPTH = 8;
/** Maximum number of gitlinks. Each is a mount. */
const MAX_GITLINKS = 1000;

/**
 * Lists the gitlinks of a workspace: those in the index of its repository, and of the repositories at these. Paths are relative to the workspace.
 *
 * `git status` looks into each, and reads the configuration in its `.git`. An index that git cannot read has none. Rejects with a
 * `SandboxError` for one that git can read and this function does not fully understand.
 */
export async function findGitlinks(workspace: string): Promise<string[]> {
  const found: string[] = [];
  const collect = async (directory: string, depth: number): Promise<void> => {
    const repository = depth === 0 ? undefined : repositoryOf(workspace, directory);
    if (repository === undefined) return;
    for (const path of await gitlinksIn(workspace, repository)) {
      const gitlink = posix.join(directory, path);
      found.push(gitlink);
      if (found.length > MAX_GITLINKS)
        throw cannotConfine(`${repository}/index`, `has more than ${MAX_GITLINKS} submodules`);
      await collect(gitlink, depth - 1);
    }
  };
  await collect("", MAX_DEPTH);
  return found;
}

/** Returns the path of a work tree's repository: its `.git`, or the directory that this file names (gitrepository-layout). */
function repositoryOf(workspace: string, directory: string): string | undefined {
  const path = posix.join(directory, ".git");
  const stats = lstatSync(posix.join(workspace, path), { throwIfNoEntry: false });
  // The workspace's own `.git` is a file when the repository is elsewhere: then the sandbox shows none.
  if (directory === "" || stats?.isDirectory()) return stats?.isDirectory() ? path : undefined;
  const text = stats?.isFile() ? contentOf(workspace, path) : undefined;
  const named = /^gitdir: (.+)/.exec(text ?? "")?.[1];
  if (named === undefined) return undefined;
  const relative = posix.relative(workspace, posix.resolve(workspace, directory, named));
  return relative.includes("\0") || relative === ".." || relative.startsWith("../") ? undefined : relative;
}

/**
 * Lists the gitlinks in the index of one repository.
 *
 * Most entries of a split index are in `sharedindex.*`. All of these files are read, even if git no longer uses some.
 */
async function gitlinksIn(workspace: string, repository: string): Promise<string[]> {
  const isDirectory = lstatSync(posix.join(workspace, repository), { throwIfNoEntry: false })?.isDirectory();
  const names = isDirectory ? namesIn(workspace, repository) : [];
  const indexes = names.filter((name) => /^(index|sharedindex\.[0-9a-f]+)$/.test(name));
  if (indexes.length === 0) return [];
  const config = contentOf(workspace, `${repository}/config`) ?? "";
  const hashBytes = /objectformat\s*=\s*sha256/i.test(config) ? 32 : 20;
  const paths = new Set<string>();
  for (const name of indexes) {
    for (const path of await readGitlinks(workspace, `${repository}/${name}`, hashBytes)) paths.add(path);
  }
  // An entry without a name replaces one of the shared index, and which one is only in the bitmaps of an extension.
  if (paths.has("")) throw cannotConfine(`${repository}/index`, "is split", "run git update-index --no-split-index");
  return [...paths].filter(isPathInTree);
}

/** Reads the gitlinks in one index file, whose path is relative to the workspace. */
async function readGitlinks(workspace: string, path: string, hashBytes: number): Promise<readonly string[]> {
  const absolute = posix.join(workspace, path);
  const stats = lstatSync(absolute, { throwIfNoEntry: false });
  // Git cannot read anything else either. It follows a link, which is refused below.
  if (!stats?.isFile() && !stats?.isSymbolicLink()) return [];
  if (stats.size > MAX_INDEX_BYTES) throw cannotConfine(path, `has more than ${MAX_INDEX_BYTES} bytes`);
  const parser = new GitlinkParser(hashBytes);
  try {
    await using file = await open(absolute, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    if (readlinkSync(`/proc/self/fd/${file.fd}`) !== absolute) throw new Error("a directory above is a link");
    for (let total = 0; total <= MAX_INDEX_BYTES; ) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, null);
      if (bytesRead === 0 || !parser.push(buffer.subarray(0, bytesRead))) break;
      total += bytesRead;
    }
  } catch {
    // Git may be able to read it a moment later, so its gitlinks are unknown.
    throw cannotConfine(path, "cannot be read");
  }
  return parser.gitlinks;
}

/** Whether git would look there. It refuses names that lead out of the work tree, and so they are never mounts. */
function isPathInTree(path: string): boolean {
  if (path.includes("\ufffd")) throw cannotConfine(path, "is a repository whose name is not UTF-8", "rename it");
  return path.split("/").every((name) => name !== "" && name !== "." && name !== "..");
}

function namesIn(workspace: string, directory: string): string[] {
  try {
    return readdirSync(posix.join(workspace, directory)).toSorted();
  } catch {
    throw cannotConfine(directory, "cannot be read");
  }
}

function cannotConfine(path: string, why: string, ...remedies: readonly string[]): SandboxError {
  const problem = `the workspace cannot be confined: ${JSON.stringify(path)} ${why}`;
  const remedy = [...remedies, 'choose sandbox "none"'].join(", or ");
  return new SandboxError(problem, "cannot-confine", { remedy });
}

/** Returns the text of a regular file that is reached through no link; undefined for anything else that a command may have put there. */
function contentOf(workspace: string, path: string): string | undefined {
  const content = readRegularFile(posix.join(workspace, path), MAX_FILE_BYTES, "refuse links");
  return content === "too large" ? undefined : content?.toString();
}
