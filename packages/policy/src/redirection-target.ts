import { lstatSync, realpathSync } from "node:fs";
import { posix } from "node:path";
import { isGuardedPath } from "./guarded-paths.ts";
import { type PolicySubject, pathInWorkspace } from "./policy-subject.ts";

/** What a redirection opens. */
export type RedirectionTarget = "in the workspace" | "outside" | "guarded";

/**
 * Finds out what a redirection opens, by its text as `redirectionText` writes it: links are followed, as the shell does,
 * and a link that leads to nothing yet counts as guarded.
 */
export function redirectionTarget(text: string, { workspace, paths }: PolicySubject): RedirectionTarget {
  const named = posix.resolve(workspace, paths[0] ?? "", text.slice(text.indexOf(" ") + 1));
  const real = realTarget(named);
  if (real === undefined) return "guarded";
  const way = pathInWorkspace(real, realPathOf(workspace) ?? workspace);
  if ([way, pathInWorkspace(named, workspace)].some(isGuardedPath)) return "guarded";
  return way === ".." || way.startsWith("../") ? "outside" : "in the workspace";
}

/** The file that is opened, or made when it is missing; undefined for a link that leads to nothing. */
function realTarget(path: string): string | undefined {
  const real = realPathOf(path);
  if (real !== undefined) return real;
  if (mayBeLink(path)) return undefined;
  const parent = realPathOf(posix.dirname(path));
  return parent === undefined ? path : posix.join(parent, posix.basename(path));
}

function mayBeLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  } catch {
    return true;
  }
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
