import { lstatSync } from "node:fs";
import { posix } from "node:path";
import { isGuardedPath } from "./guarded-paths.ts";
import {
  isOutside,
  type PolicySubject,
  pathInWorkspace,
  pathOfWord,
  realPath,
} from "./policy-subject.ts";

/** The kind of file that a redirection opens. */
export type RedirectionTarget = "in the workspace" | "outside" | "guarded";

/**
 * Returns the kind of file that a redirection opens, by its text as
 * `redirectionText` writes it.
 *
 * Links are followed, as the shell does. A link whose target does not exist
 * counts as guarded.
 */
export function redirectionTarget(
  text: string,
  { workspace, paths }: PolicySubject,
): RedirectionTarget {
  const named = pathOfWord(
    posix.resolve(workspace, paths[0] ?? ""),
    text.slice(text.indexOf(" ") + 1),
  );
  const opened = openedFile(named);
  if (opened === undefined) return "guarded";
  const path = pathInWorkspace(opened, realPath(workspace) ?? workspace);
  if ([path, pathInWorkspace(named, workspace)].some(isGuardedPath)) {
    return "guarded";
  }
  return isOutside(path) ? "outside" : "in the workspace";
}

/**
 * Returns the file that opening a path opens, or creates if it does not exist;
 * undefined for a link that leads to nothing.
 */
function openedFile(path: string): string | undefined {
  const real = realPath(path);
  if (real !== undefined) return real;
  try {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) {
      return undefined;
    }
  } catch {
    // The directory cannot be read: the path may be a link.
    return undefined;
  }
  const directory = realPath(posix.dirname(path));
  return directory === undefined
    ? path
    : posix.join(directory, posix.basename(path));
}
