import { Code, DevtoolError, quoted } from "../errors.ts";
import { isInside } from "./is-inside.ts";
import { directoryAt, realPath } from "./real-path.ts";

/**
 * Throws `Code.Unavailable` when this server cannot work in the workspace of a
 * task that another server began: the directory is not here, or not in its
 * roots.
 *
 * @param path the real path of the workspace; empty for a task without one
 * @param roots the directories that may contain workspaces
 */
export function assertReachable(path: string, roots: readonly string[]): void {
  if (path === "") return;
  const isHere = directoryAt(realPath(path)) === path;
  if (isHere && roots.some((root) => isInside(realPath(root) ?? root, path))) {
    return;
  }
  const why = isHere
    ? "is outside the roots of this server (--root)"
    : "is not on this server";
  throw new DevtoolError(`workspace ${quoted(path)} ${why}`, Code.Unavailable, {
    remedy:
      "share the directory with all servers under this path, or route the requests of its tasks to those that have it",
  });
}
