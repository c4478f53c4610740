import { dirname, join } from "node:path";
import { isDirectory, isReal, isWithin, missingPlace, statsOf } from "./guarded-places.ts";
import { repositoriesIn } from "./redirects.ts";
import type { GuardedPlaces, SandboxAccess } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";
import { realPath } from "./system-mounts.ts";

/** What of `.git` stays as it is even when the rest of it may be written: what git takes commands from. */
const PROTECTED_GIT = ["hooks", "config", "config.worktree", "commondir"];

/** How a path is shown: to read, to write, or as an empty place. */
type View = "read" | "write" | "hide";

/** What is kept from a command, whatever it was granted. */
export interface Confinement {
  readonly guarded: GuardedPlaces;
  /** Existing real paths that are not there for it. */
  readonly hidden: readonly string[];
  /** The guarded places that are to be empty for it. */
  readonly missing: readonly string[];
  /** Files that are to be there when it starts, and that it only reads. */
  readonly redirects: readonly string[];
}

/**
 * Lists bwrap's arguments for what a command may reach of files that are not the system's: the deepest path decides,
 * so something hidden in the workspace stays hidden, and a workspace in a hidden place is there. What can make other
 * programs run something is only read, and a mount of its own: so it cannot be renamed either. Throws
 * a `SandboxError` when that cannot be had.
 */
export function workspaceMounts(access: SandboxAccess, confinement: Confinement): string[] {
  const { guarded, hidden, missing, redirects } = confinement;
  assertProtectable(access.workspace);
  const views = new Map<string, View>(access.readable.filter((path) => !isWithin(path, hidden)).map(reading));
  views.set(access.workspace, access.workspaceAccess ?? "write");
  for (const path of [...guarded.present, ...missing]) views.set(path, "read");
  const granted = access.writable.filter((path) => isGrantable(path, guarded, hidden) && !missing.includes(path));
  for (const path of granted) grant(path, views, guarded);
  if (granted.includes(join(access.workspace, ".git")))
    for (const path of gitPaths(access.workspace)) views.set(path, "read");
  if (access.workspaceAccess !== "read") for (const path of above(views, access.workspace)) views.set(path, "write");
  const shown = [...views.keys()];
  for (const path of hidden) if (isWithin(dirname(path), shown)) views.set(path, "hide");
  const byDepth = [...views].sort(([one], [other]) => one.length - other.length);
  return [
    ...byDepth.flatMap(([path, view]) => mountOf(path, view)),
    ...redirects.flatMap((path) => ["--ro-bind", path, path]),
  ];
}

/** A guarded place that is granted is no longer a mount, so that it can be replaced and removed as git does. */
function grant(path: string, views: Map<string, View>, { workspace, present }: GuardedPlaces): void {
  const isOfWorkspace = present.includes(path) && path !== join(workspace, ".git");
  if (isOfWorkspace && !present.some((other) => other !== path && isWithin(path, [other]))) views.delete(path);
  else if (statsOf(path)) views.set(path, "write");
}

/**
 * Whether a further path may be made writable at all: it exists, or is a place that commands may not make by themselves, is
 * called by its real name, and is neither hidden nor what git takes commands from.
 */
export function isGrantable(path: string, guarded: GuardedPlaces, hidden: readonly string[]): boolean {
  const ofGit = PROTECTED_GIT.map((name) => join(guarded.workspace, ".git", name));
  if (path === "/" || isWithin(path, [...hidden, ...ofGit, ...guarded.repositories, "/proc", "/dev", "/sys"]))
    return false;
  return realPath(path) === path || missingPlace(path, guarded) === path;
}

/** The directories between the workspace and what is only read: a mount of its own cannot be renamed, so nothing takes its place. */
function above(views: ReadonlyMap<string, View>, workspace: string): string[] {
  const read = [...views].flatMap(([path, view]) => (view === "read" && isWithin(path, [workspace]) ? [path] : []));
  const directories = read.flatMap((path) => {
    const names = dirname(path)
      .slice(workspace.length)
      .split("/")
      .filter((name) => name !== "");
    return names.map((_name, index) => join(workspace, ...names.slice(0, index + 1)));
  });
  return directories.filter((path) => !views.has(path) && isDirectory(path));
}

function reading(path: string): [string, View] {
  return [path, "read"];
}

function assertProtectable(workspace: string): void {
  if (!statsOf(join(workspace, ".git"))?.isSymbolicLink()) return;
  throw new SandboxError(
    `workspace ${JSON.stringify(workspace)} cannot be confined: its .git is a symbolic link`,
    "cannot-confine",
    { remedy: 'put the repository there, or choose sandbox "none"' },
  );
}

/** Makes bwrap add the directory of hooks when there is none, or a command could. */
function gitPaths(workspace: string): string[] {
  const git = join(workspace, ".git");
  if (!statsOf(git)?.isDirectory()) return [git];
  const worktrees = join(git, "worktrees");
  return [...repositoriesIn(workspace).flatMap(commandsOf), ...(isReal(statsOf(worktrees)) ? [worktrees] : [])];
}

/** What of one repository git takes commands from. */
function commandsOf(git: string): string[] {
  return PROTECTED_GIT.map((name) => join(git, name)).filter(
    (path) => path.endsWith("/hooks") || isReal(statsOf(path)),
  );
}

function mountOf(path: string, view: View): string[] {
  switch (view) {
    case "write":
      return ["--bind", path, path];
    case "read":
      return statsOf(path) ? ["--ro-bind", path, path] : emptyDirectory(path);
    case "hide":
      return statsOf(path)?.isDirectory() ? emptyDirectory(path) : ["--ro-bind", "/dev/null", path];
    default:
      return view satisfies never;
  }
}

function emptyDirectory(path: string): string[] {
  return ["--tmpfs", path, "--remount-ro", path];
}
