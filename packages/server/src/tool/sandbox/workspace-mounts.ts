import { lstatSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { Code, DevtoolError } from "../../errors.ts";
import type { SandboxAccess } from "./sandbox.ts";
import { realPath } from "./system-mounts.ts";

/** What of a workspace can make programs outside the sandbox run something: editors, agents and git read it by themselves. */
const PROTECTED = [".git", ".devtool", ".gemini", ".vscode", ".idea", ".mcp.json"];
/** What of `.git` stays as it is even when the rest of it may be written: what git takes commands from. */
const PROTECTED_GIT = ["hooks", "config", "config.worktree", "commondir"];

/** How a path is shown: to read, to write, or as an empty place. */
type View = "read" | "write" | "hide";

/**
 * Lists bwrap's arguments for what a command may reach of files that are not the system's: the deepest path decides,
 * so something hidden in the workspace stays hidden, and a workspace in a hidden place is there. What can make other
 * programs run something is only read, and a mount of its own: so it cannot be renamed either. Throws
 * `Code.FailedPrecondition` when that cannot be had. Hidden paths exist and are real ones.
 */
export function workspaceMounts(access: SandboxAccess, hidden: readonly string[]): string[] {
  assertCanonical(access.workspace);
  assertProtectable(access.workspace);
  const grants = new Set(access.writable.filter((path) => isGrantable(path, access.workspace, hidden)));
  const views = new Map<string, View>(access.readable.filter((path) => !isWithin(path, hidden)).map(reading));
  views.set(access.workspace, "write");
  for (const path of protectedPaths(access.workspace)) views.set(path, "read");
  for (const path of grants) views.set(path, "write");
  if (grants.has(join(access.workspace, ".git")))
    for (const path of gitPaths(access.workspace)) views.set(path, "read");
  const shown = [...views.keys()];
  for (const path of hidden) if (isWithin(dirname(path), shown)) views.set(path, "hide");
  const byDepth = [...views].sort(([one], [other]) => one.length - other.length);
  return byDepth.flatMap(([path, view]) => mountOf(path, view));
}

/**
 * Whether a further path may be made writable at all: it exists, is called by its real name, and is neither hidden
 * nor what git takes commands from.
 */
export function isGrantable(path: string, workspace: string, hidden: readonly string[]): boolean {
  const never = PROTECTED_GIT.map((name) => join(workspace, ".git", name));
  return path !== "/" && realPath(path) === path && !isWithin(path, [...hidden, ...never, "/proc", "/dev", "/sys"]);
}

/** Whether a path is one of these directories or lies in one. */
export function isWithin(path: string, directories: readonly string[]): boolean {
  return directories.some(
    (directory) => path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`),
  );
}

/** What is there of a workspace that commands may only read, unless it is granted. */
export function protectedPaths(workspace: string): string[] {
  return PROTECTED.map((name) => join(workspace, name)).filter((path) => isReal(statsOf(path)));
}

function reading(path: string): [string, View] {
  return [path, "read"];
}

function assertProtectable(workspace: string): void {
  if (!statsOf(join(workspace, ".git"))?.isSymbolicLink()) return;
  throw new DevtoolError(
    `workspace ${JSON.stringify(workspace)} cannot be confined: its .git is a symbolic link: put the repository there, or choose sandbox "none"`,
    Code.FailedPrecondition,
  );
}

/** Makes bwrap add the directory of hooks when there is none, or a command could. */
function gitPaths(workspace: string): string[] {
  const git = join(workspace, ".git");
  if (!statsOf(git)?.isDirectory()) return [git];
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

function assertCanonical(workspace: string): void {
  if (realPath(workspace) === workspace && workspace !== "/") return;
  throw new DevtoolError(
    `workspace ${JSON.stringify(workspace)} cannot be confined: name a directory below / by its real path`,
    Code.FailedPrecondition,
  );
}

function isReal(stats: Stats | undefined): boolean {
  return stats !== undefined && (stats.isFile() || stats.isDirectory());
}

function statsOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
