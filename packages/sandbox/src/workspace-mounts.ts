import { dirname, join } from "node:path";
import { realPath } from "@devtool/internal/real-path";
import {
  isDirectory,
  isReal,
  isWithin,
  missingPlace,
} from "./guarded-places.ts";
import { repositoriesIn } from "./redirects.ts";
import { statsOf } from "./regular-file.ts";
import type { GuardedPlaces, SandboxAccess } from "./sandbox.ts";
import { SandboxError } from "./sandbox-error.ts";

/**
 * Parts of a repository from which git takes commands: read-only even when the
 * rest of `.git` may be written.
 */
const PROTECTED_GIT = ["hooks", "config", "config.worktree", "commondir"];

/**
 * How a path is shown to a command: read-only, writable, or as an empty
 * directory or file.
 */
type View = "read" | "write" | "hide";

/**
 * Paths that the sandbox adds to, or removes from, the access that a command
 * was given.
 */
export interface Confinement {
  /** Directories of the PATH, which are shown read-only. */
  readonly tools: readonly string[];
  readonly guarded: GuardedPlaces;
  /** Existing real paths that are hidden. */
  readonly hidden: readonly string[];
  /** The missing guarded places that are shown empty. */
  readonly missing: readonly string[];
  /** Files that are made before the command starts, and that are read-only. */
  readonly redirects: readonly string[];
}

/**
 * Lists bwrap's arguments for the files that a command may reach in addition to
 * the system's.
 *
 * The deepest path decides: a hidden directory in the workspace stays hidden,
 * and a workspace in a hidden directory is shown. Guarded places are read-only
 * mounts of their own, and so are not only kept from being written but also
 * from being renamed. Throws a `SandboxError` for a workspace that cannot be
 * confined.
 */
export function workspaceMounts(
  access: SandboxAccess,
  confinement: Confinement,
): string[] {
  const { tools, guarded, hidden, missing, redirects } = confinement;
  const { workspace, readable, writable, workspaceAccess = "write" } = access;
  if (statsOf(join(workspace, ".git"))?.isSymbolicLink()) {
    const problem = `workspace ${JSON.stringify(workspace)} cannot be confined: its .git is a symbolic link`;
    const remedy = 'put the repository there, or choose sandbox "none"';
    throw new SandboxError(problem, "cannot-confine", { remedy });
  }
  const views = new Map<string, View>();
  // A command has turned a path that is no longer its own real path into a
  // link.
  for (const path of [
    ...tools,
    ...readable.filter((path) => realPath(path) === path),
  ]) {
    if (!isWithin(path, hidden)) views.set(path, "read");
  }
  views.set(workspace, workspaceAccess);
  for (const path of [...guarded.present, ...missing]) views.set(path, "read");
  const granted = writable.filter(
    (path) => isGrantable(path, guarded, hidden) && !missing.includes(path),
  );
  showGranted(views, granted, guarded);
  const shown = [...views.keys()];
  for (const path of hidden) {
    if (isWithin(dirname(path), shown)) views.set(path, "hide");
  }
  for (const path of directoriesBetween(views)) views.set(path, "write");
  const byDepth = [...views].sort(
    ([one], [other]) => one.length - other.length,
  );
  return [
    ...byDepth.flatMap(([path, view]) => mountOf(path, view)),
    ...redirects.flatMap((path) => ["--ro-bind", path, path]),
  ];
}

/**
 * Makes the paths writable that a command was granted, except the parts of
 * repositories that no grant includes.
 */
function showGranted(
  views: Map<string, View>,
  granted: readonly string[],
  guarded: GuardedPlaces,
): void {
  const repository = join(guarded.workspace, ".git");
  for (const path of granted) {
    // A guarded place that is granted is no longer a mount, so that it can be
    // replaced and removed, as git does.
    const isGuardedPlace =
      guarded.present.includes(path) && path !== repository;
    const isInGuardedPlace = guarded.present.some(
      (other) => other !== path && isWithin(path, [other]),
    );
    if (isGuardedPlace && !isInGuardedPlace) {
      views.delete(path);
    } else if (statsOf(path)) {
      views.set(path, "write");
    }
  }
  for (const git of [repository, ...guarded.gitDirectories]) {
    if (granted.includes(git)) {
      for (const path of gitPaths(git)) views.set(path, "read");
    }
    // A grant of a directory around a repository does not include the
    // repository.
    else if (isWithin(git, granted)) {
      views.set(git, "read");
    }
  }
}

/**
 * Returns whether a further path may be made writable at all.
 *
 * It must exist under its real path or be a missing guarded place, and must
 * neither be hidden nor be something from which git takes commands.
 */
export function isGrantable(
  path: string,
  guarded: GuardedPlaces,
  hidden: readonly string[],
): boolean {
  const repositories = [
    join(guarded.workspace, ".git"),
    ...guarded.gitDirectories.flatMap(repositoriesIn),
  ];
  const ofGit = repositories.flatMap((git) =>
    PROTECTED_GIT.map((name) => join(git, name)),
  );
  const never = [
    ...hidden,
    ...ofGit,
    ...guarded.repositories,
    "/proc",
    "/dev",
    "/sys",
  ];
  if (path === "/" || isWithin(path, never)) return false;
  return realPath(path) === path || missingPlace(path, guarded) === path;
}

/**
 * Lists the directories between a writable mount and the mounts in it.
 *
 * Each becomes a mount of its own, which cannot be renamed: otherwise a command
 * could move such a directory away, and a guarded or hidden place with it, and
 * put another in its place.
 */
function directoriesBetween(views: ReadonlyMap<string, View>): string[] {
  const found = new Set<string>();
  for (const path of views.keys()) {
    const between: string[] = [];
    let above = dirname(path);
    while (above !== "/" && !views.has(above)) {
      between.push(above);
      above = dirname(above);
    }
    if (views.get(above) === "write") {
      for (const directory of between) found.add(directory);
    }
  }
  return [...found].filter(isDirectory);
}

/**
 * Lists what stays read-only in a git directory that may be written, hooks also
 * where there are none: a command could make them.
 */
function gitPaths(git: string): string[] {
  if (!statsOf(git)?.isDirectory()) return [git];
  const paths = repositoriesIn(git).flatMap((repository) =>
    PROTECTED_GIT.map((name) => join(repository, name)),
  );
  return [
    ...paths.filter((path) => path.endsWith("/hooks") || isReal(statsOf(path))),
    ...[join(git, "worktrees")].filter((path) => isReal(statsOf(path))),
  ];
}

function mountOf(path: string, view: View): string[] {
  const emptyDirectory = ["--tmpfs", path, "--remount-ro", path];
  switch (view) {
    case "write":
      return ["--bind", path, path];
    case "read":
      return statsOf(path) ? ["--ro-bind", path, path] : emptyDirectory;
    case "hide":
      return statsOf(path)?.isDirectory()
        ? emptyDirectory
        : ["--ro-bind", "/dev/null", path];
    default:
      return view satisfies never;
  }
}
