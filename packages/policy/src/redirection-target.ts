import { isGuardedPath } from "./guarded-paths.ts";
import {
  directoriesOf,
  isOfProcess,
  isOutside,
  type PolicySubject,
  pathInWorkspace,
  pathsOfWord,
} from "./policy-subject.ts";

/** The kind of file that a redirection opens. */
export type RedirectionTarget = "in the workspace" | "outside" | "guarded";

/**
 * Returns the kind of file that a redirection opens, by its text as
 * `redirectionText` writes it.
 *
 * Links are followed, as the shell does. A path through a link of a process
 * counts as guarded: it may lead to any file.
 */
export function redirectionTarget(
  text: string,
  subject: PolicySubject,
): RedirectionTarget {
  const named = pathsOfWord(
    directoriesOf(subject),
    text.slice(text.indexOf(" ") + 1),
  ).map((path) => pathInWorkspace(path, subject.workspace));
  if (named.some((path) => isOfProcess(path) || isGuardedPath(path))) {
    return "guarded";
  }
  return isOutside(named.at(-1) ?? "") ? "outside" : "in the workspace";
}
