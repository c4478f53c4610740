import { constants, lstatSync, readdirSync, readlinkSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { posix } from "node:path";
import { GitlinkParser } from "./gitlink-parser.ts";
import { readRegularFile } from "./regular-file.ts";
import { SandboxError } from "./sandbox-error.ts";

/** A configuration or a `.git` file that is larger is not read. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;

/** An index that is larger is refused. That of a million files has some 100 MiB. */
const MAX_INDEX_BYTES = 512 * 1024 * 1024;
/** An index is read in pieces of this size, and others have their turn between two. */
const PIECE_BYTES = 256 * 1024;
/** The maximum depth to which repositories may lie in each other. */
const MAX_DEPTH = 8;
/** The maximum number of gitlinks: each is a mount. */
const MAX_GITLINKS = 1000;

/**
 * The paths of the gitlinks in a repository's index, and in those of the repositories that they name, relative to its work tree:
 * `git status` looks into each, and reads the configuration in its `.git`. Empty when git cannot read an index. Rejects with
 * a `SandboxError` for one that git reads and that is not fully understood here.
 */
export async function gitlinksOf(root: string): Promise<string[]> {
  const found: string[] = [];
  await collectGitlinks(root, { directory: "", depth: MAX_DEPTH }, found);
  return found;
}

interface Place {
  /** Of a work tree, relative to the workspace. */
  readonly directory: string;
  /** How much deeper repositories are looked for. */
  readonly depth: number;
}

async function collectGitlinks(workspace: string, { directory, depth }: Place, found: string[]): Promise<void> {
  const repository = depth === 0 ? undefined : repositoryOf(workspace, directory);
  if (repository === undefined) return;
  for (const path of await gitlinksIn(workspace, repository)) {
    const gitlink = posix.join(directory, path);
    found.push(gitlink);
    if (found.length > MAX_GITLINKS) throw unread(`${repository}/index`, `has more than ${MAX_GITLINKS} submodules`);
    await collectGitlinks(workspace, { directory: gitlink, depth: depth - 1 }, found);
  }
}

/** Where the repository of a work tree lies in the workspace: in its `.git`, or where that file says (gitrepository-layout). */
function repositoryOf(workspace: string, directory: string): string | undefined {
  const path = posix.join(directory, ".git");
  const stats = lstatSync(posix.join(workspace, path), { throwIfNoEntry: false });
  // At the top a file means that the repository lies elsewhere: the sandbox shows none then.
  if (directory === "" || stats?.isDirectory()) return stats?.isDirectory() ? path : undefined;
  const text = stats?.isFile() ? contentOf(workspace, path) : undefined;
  const named = /^gitdir: (.+)/.exec(text ?? "")?.[1];
  return named === undefined ? undefined : pathIn(workspace, posix.resolve(workspace, directory, named));
}

function pathIn(workspace: string, path: string): string | undefined {
  const way = posix.relative(workspace, path);
  return way.includes("\0") || way === ".." || way.startsWith("../") ? undefined : way;
}

/** Of a split index most entries lie in `sharedindex.*`; of those that are not in use any more some may be too many. */
async function gitlinksIn(workspace: string, repository: string): Promise<string[]> {
  const indexes = indexesOf(workspace, repository);
  const hashBytes = indexes.length > 0 ? hashBytesOf(workspace, repository) : 0;
  const paths = new Set<string>();
  for (const index of indexes) {
    for (const path of await readGitlinks(workspace, index, hashBytes)) paths.add(path);
  }
  // An entry without a name stands for one of the shared index, which the bitmaps of an extension say.
  if (paths.has("")) throw unread(`${repository}/index`, "is split", "run git update-index --no-split-index");
  return [...paths].filter(isPathInTree);
}

function indexesOf(workspace: string, repository: string): string[] {
  const isDirectory = lstatSync(posix.join(workspace, repository), { throwIfNoEntry: false })?.isDirectory();
  const names = isDirectory ? namesIn(workspace, repository) : [];
  const indexes = names.filter((name) => /^(index|sharedindex\.[0-9a-f]+)$/.test(name));
  return indexes.map((name) => `${repository}/${name}`);
}

function hashBytesOf(workspace: string, repository: string): number {
  const config = contentOf(workspace, `${repository}/config`) ?? "";
  return /objectformat\s*=\s*sha256/i.test(config) ? 32 : 20;
}

async function readGitlinks(workspace: string, path: string, hashBytes: number): Promise<readonly string[]> {
  const absolute = posix.join(workspace, path);
  const stats = lstatSync(absolute, { throwIfNoEntry: false });
  // What git cannot read either. A link is refused, since git follows it.
  if (!stats?.isFile() && !stats?.isSymbolicLink()) return [];
  if (stats.size > MAX_INDEX_BYTES) throw unread(path, `has more than ${MAX_INDEX_BYTES} bytes`);
  const parser = new GitlinkParser(hashBytes);
  await readInto(parser, absolute).catch(() => {
    // What cannot be read now may be read by git a moment later, so nothing is known of it.
    throw unread(path, "cannot be read");
  });
  return parser.gitlinks;
}

async function readInto(parser: GitlinkParser, path: string): Promise<void> {
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  if (readlinkSync(`/proc/self/fd/${file.fd}`) !== path) throw new Error("a directory above is a link");
  for (let read = 0; read <= MAX_INDEX_BYTES; ) {
    const piece = await readPiece(file);
    if (piece.length === 0 || !parser.push(piece)) return;
    read += piece.length;
  }
}

async function readPiece(file: FileHandle): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, null);
  return buffer.subarray(0, bytesRead);
}

/** Whether git would look there: it refuses names that lead out of the work tree. Such a name is never a mount. */
function isPathInTree(path: string): boolean {
  if (path.includes("\ufffd")) throw unread(path, "is a repository whose name is not UTF-8", "rename it");
  return path.split("/").every((name) => name !== "" && name !== "." && name !== "..");
}

function namesIn(workspace: string, directory: string): string[] {
  try {
    return readdirSync(posix.join(workspace, directory)).toSorted();
  } catch {
    throw unread(directory, "cannot be read");
  }
}

function unread(path: string, why: string, ...remedies: readonly string[]): SandboxError {
  const problem = `the workspace cannot be confined: ${JSON.stringify(path)} ${why}`;
  const remedy = [...remedies, 'choose sandbox "none"'].join(", or ");
  return new SandboxError(problem, "cannot-confine", { remedy });
}

/** The text of a regular file of the workspace, reached through no link; undefined for anything else, which a command may have put there. */
function contentOf(workspace: string, path: string): string | undefined {
  const content = readRegularFile(posix.join(workspace, path), MAX_FILE_BYTES, "refuse links");
  return content === "too large" ? undefined : content?.toString();
}
