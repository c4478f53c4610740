import { constants, lstatSync, readdirSync } from "node:fs";
import { open } from "node:fs/promises";
import { join, posix, sep } from "node:path";
import { directoryAccess } from "@devtool/internal/directory-access";
import { readGitSettings } from "./git-settings.ts";
import { type IndexEntryKind, IndexParser } from "./index-parser.ts";
import { SandboxError } from "./sandbox-error.ts";
import { type WorkTree, workTreeAt, workTreesAround } from "./work-trees.ts";

/**
 * Maximum size of an index in bytes. That of a million files has about 100 MiB.
 */
const MAX_INDEX_BYTES = 512 * 1024 * 1024;
/**
 * Size of the pieces in which an index is read, in bytes. The event loop runs
 * between two pieces.
 */
const PIECE_BYTES = 256 * 1024;
/** Maximum depth of repositories in each other. */
const MAX_DEPTH = 8;
/** Maximum number of gitlinks. Each is a mount. */
const MAX_GITLINKS = 1000;

/**
 * Lists the gitlinks in a workspace: those in the indexes of the repositories
 * that it is or lies in, and of the repositories at these. Paths are relative
 * to the workspace; that of the workspace itself is empty.
 *
 * `git status` looks into each, and reads the configuration in its `.git`. An
 * index that git cannot read has none. Rejects with a `SandboxError` for one
 * that git can read and this function does not fully understand.
 */
export async function findGitlinks(workspace: string): Promise<string[]> {
  const found = new Set<string>();
  const collect = async (tree: WorkTree, depth: number): Promise<void> => {
    if (depth === 0) return;
    const { roots, gitDirectory } = tree;
    const paths = await gitlinksIn(workspace, tree);
    for (const gitlink of roots.flatMap((root) =>
      paths.map((path) => posix.join(root, path)),
    )) {
      const relative = posix.relative(workspace, gitlink);
      if (relative.split("/")[0] === ".." || found.has(relative)) continue;
      found.add(relative);
      if (found.size > MAX_GITLINKS) {
        throw cannotConfine(
          relativePath(workspace, `${gitDirectory}/index`),
          `has more than ${MAX_GITLINKS} submodules`,
        );
      }
      const linked = workTreeAt(gitlink);
      if (linked) await collect(linked, depth - 1);
    }
  };
  for (const tree of workTreesAround(workspace)) await collect(tree, MAX_DEPTH);
  return [...found];
}

/**
 * Lists the files in the index of a work tree, relative to it. Rejects with a
 * `SandboxError` for an index that this function cannot read.
 */
export function trackedFiles(tree: WorkTree): Promise<ReadonlySet<string>> {
  return entriesIn(tree, tree.gitDirectory, "files");
}

/** Lists the gitlinks in the index of one repository. */
async function gitlinksIn(
  workspace: string,
  tree: WorkTree,
): Promise<string[]> {
  const shown = relativePath(workspace, tree.gitDirectory);
  const paths = await entriesIn(tree, shown, "gitlinks");
  // An entry without a name replaces one of the shared index, and which one is
  // only in the bitmaps of an extension.
  if (paths.has("")) {
    throw cannotConfine(
      `${shown}/index`,
      "is split",
      "run git update-index --no-split-index",
    );
  }
  const unreadable = [...paths].find((path) => path.includes("\ufffd"));
  if (unreadable !== undefined) {
    throw cannotConfine(
      unreadable,
      "is a repository whose name is not UTF-8",
      "rename it",
    );
  }
  // Git refuses names that lead out of the work tree, so these are never
  // mounts.
  return [...paths].filter((path) =>
    path
      .split("/")
      .every((name) => name !== "" && name !== "." && name !== ".."),
  );
}

/**
 * Lists entries in the index of one repository, which errors name as `shown`.
 *
 * Most entries of a split index are in `sharedindex.*`. All of these files are
 * read, even if git no longer uses some.
 */
async function entriesIn(
  { gitDirectory: repository, commonDirectory }: WorkTree,
  shown: string,
  kind: IndexEntryKind,
): Promise<ReadonlySet<string>> {
  let names: string[];
  try {
    names = readdirSync(repository).toSorted();
  } catch {
    throw cannotConfine(shown, "cannot be read");
  }
  const indexes = names.filter((name) =>
    /^(index|sharedindex\.[0-9a-f]+)$/.test(name),
  );
  if (indexes.length === 0) return new Set();
  const settings = readGitSettings(`${commonDirectory}/config`);
  const isSha256 = settings.some(
    ({ key, value }) => key === "extensions.objectformat" && value === "sha256",
  );
  const hashBytes = isSha256 ? 32 : 20;
  const paths = new Set<string>();
  for (const name of indexes) {
    for (const path of await readEntries(
      `${repository}/${name}`,
      `${shown}/${name}`,
      new IndexParser(kind, hashBytes),
    )) {
      paths.add(path);
    }
  }
  return paths;
}

/**
 * Reads the entries in one index file, given by its real path; `shown` names it
 * in errors.
 */
async function readEntries(
  path: string,
  shown: string,
  parser: IndexParser,
): Promise<readonly string[]> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  // Git cannot read anything else either. Git follows a link, and this function
  // refuses one when it opens the file.
  if (!stats?.isFile() && !stats?.isSymbolicLink()) return [];
  if (stats.size > MAX_INDEX_BYTES) {
    throw cannotConfine(shown, `has more than ${MAX_INDEX_BYTES} bytes`);
  }
  try {
    await using file = await open(
      path,
      constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW,
    );
    if (directoryAccess.realPath(file.fd, path) !== path) {
      throw new Error("a directory above is a link");
    }
    for (let total = 0; total <= MAX_INDEX_BYTES; ) {
      const { buffer, bytesRead } = await file.read(
        Buffer.allocUnsafe(PIECE_BYTES),
        0,
        PIECE_BYTES,
        null,
      );
      if (bytesRead === 0 || !parser.push(buffer.subarray(0, bytesRead))) break;
      total += bytesRead;
    }
  } catch {
    // The entries are unknown: git may be able to read the index a moment
    // later.
    throw cannotConfine(shown, "cannot be read");
  }
  return parser.found;
}

/**
 * Returns a path relative to the workspace where it is in it, and otherwise as
 * it is.
 */
function relativePath(workspace: string, path: string): string {
  return path.startsWith(join(workspace, sep))
    ? posix.relative(workspace, path)
    : path;
}

function cannotConfine(
  path: string,
  why: string,
  ...remedies: readonly string[]
): SandboxError {
  const problem = `the workspace cannot be confined: ${JSON.stringify(path)} ${why}`;
  const remedy = [...remedies, 'choose sandbox "none"'].join(", or ");
  return new SandboxError(problem, "cannot-confine", { remedy });
}
