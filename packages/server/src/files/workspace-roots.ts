import { lstatSync, readlinkSync, statSync } from "node:fs";
import { join, normalize, parse, sep } from "node:path";
import {
  isInside,
  realPath,
  realPathOrMissing,
} from "@devtool/internal/real-path";
import { Code, DevtoolError, quoted } from "../errors.ts";

/**
 * The directories that may contain workspaces, as they were when the server
 * started. A root is a place, not a name: a command that may write above it
 * could put a link there, and the link's target would become a root (S9).
 */
export class WorkspaceRoots {
  /** The paths as the operator wrote them. */
  readonly paths: readonly string[];
  readonly #roots: readonly Root[];

  /**
   * Throws `Code.FailedPrecondition` for a root that leads out of another one by
   * a link that lies there: a session may have made it while an earlier server
   * ran.
   *
   * @param paths absolute paths; a directory may still be missing
   */
  constructor(paths: readonly string[]) {
    this.paths = paths;
    this.#roots = paths
      .filter((path) => path !== "")
      .map((path) => new Root(path));
    for (const root of this.#roots) {
      const links = linksOn(root.path);
      for (const other of this.#roots) {
        if (isInside(other.realPath, root.realPath)) continue;
        const link = links.find((each) => isInside(other.realPath, each));
        if (link !== undefined) throw leadsOutError(root, other, link);
      }
    }
  }

  /** Whether a real path is in a root that is where it was. */
  contains(real: string): boolean {
    return this.#roots.some(
      (root) => isInside(root.realPath, real) && root.isInPlace(),
    );
  }

  /**
   * Throws `Code.FailedPrecondition` for a path by the name of a root where
   * something else is now.
   */
  assertInPlace(path: string): void {
    const named = normalize(path);
    const moved = this.#roots.find(
      (root) =>
        (isInside(root.path, named) || isInside(root.realPath, named)) &&
        realPath(root.path) !== undefined &&
        !root.isInPlace(),
    );
    if (moved) throw movedError(moved.path);
  }
}

/**
 * The identities of the directories in which sessions began, by their real
 * paths, for all servers of this process.
 */
const begun = new Map<string, string>();

/**
 * Takes the directory at the path of a workspace for the one that new sessions
 * mean.
 *
 * @param workspacePath a real path
 */
export function beginInWorkspace(workspacePath: string): void {
  const identity = identityAt(workspacePath);
  if (identity !== undefined) begun.set(workspacePath, identity);
}

/**
 * Forgets the directories in which sessions began in some roots: a server that
 * starts in a process works in those that are there now, as it would in a
 * process of its own.
 */
export function forgetWorkspacesIn(roots: WorkspaceRoots): void {
  for (const path of begun.keys()) if (roots.contains(path)) begun.delete(path);
}

/**
 * Throws `Code.FailedPrecondition` when the path of a session's workspace leads
 * to another directory than when the session began, or than at its first use
 * since its server was started: a link or a directory was put in its place.
 *
 * @param workspacePath a real path; empty for none
 */
export function assertWorkspaceInPlace(workspacePath: string): void {
  const now = workspacePath === "" ? undefined : realPath(workspacePath);
  if (now === undefined) return;
  if (now !== workspacePath) throw movedError(workspacePath);
  const known = begun.get(workspacePath);
  if (known === undefined) beginInWorkspace(workspacePath);
  else if (known !== identityAt(workspacePath)) throw movedError(workspacePath);
}

/** A root, known by its real path, its device and its inode. */
class Root {
  readonly path: string;
  readonly realPath: string;
  /** Undefined until the directory exists. */
  #identity: string | undefined;

  constructor(path: string) {
    this.path = normalize(path);
    this.realPath = realPathOrMissing(this.path);
    this.#identity = identityAt(this.realPath);
  }

  isInPlace(): boolean {
    if (realPath(this.path) !== this.realPath) return false;
    const identity = identityAt(this.realPath);
    this.#identity ??= identity;
    return identity === this.#identity;
  }
}

/** Returns the real paths of the links that are followed on the way to a path. */
function linksOn(path: string): string[] {
  // A circle of links leads nowhere.
  if (realPath(path) === undefined) return [];
  const links: string[] = [];
  let { root: real } = parse(path);
  const names = path.slice(real.length).split(sep);
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const next = join(real, name);
    if (!lstatSync(next).isSymbolicLink()) {
      real = next;
      continue;
    }
    links.push(next);
    const target = readlinkSync(next);
    const { root } = parse(target);
    if (root !== "") real = root;
    names.unshift(...target.slice(root.length).split(sep));
  }
  return links;
}

function leadsOutError(root: Root, other: Root, link: string): DevtoolError {
  return new DevtoolError(
    `root ${quoted(root.path)} leads out of root ${quoted(other.path)} by the link ${quoted(link)}, which a session there may have made`,
    Code.FailedPrecondition,
    {
      remedy: `remove the link, or name ${quoted(root.realPath)} if that is meant`,
      details: { field: "workspace_roots", value: root.path },
    },
  );
}

function identityAt(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

function movedError(path: string): DevtoolError {
  const now = realPath(path);
  const problem =
    now === path
      ? "another directory is in its place"
      : `it leads to ${quoted(now ?? "")}`;
  return new DevtoolError(
    `workspace ${quoted(path)} is not where it was: ${problem}`,
    Code.FailedPrecondition,
    {
      remedy:
        "put the directory back, or restart the server to work in the one that is there now",
      details: { field: "workspace_path", value: path },
    },
  );
}
