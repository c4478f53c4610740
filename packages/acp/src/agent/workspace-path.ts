import { realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join } from "node:path";
import { Code, DevtoolError, isInside, quoted } from "@devtool/server/agent";

/**
 * Returns the path of a file of the workspace without symbolic links in its directories.
 *
 * Throws `Code.PermissionDenied` for a path that is not absolute, or that leads out of the workspace. The last segment
 * may be a symbolic link: open it so that it is not followed.
 */
export async function workspacePathOf(workspacePath: string, path: string): Promise<string> {
  const root = await realpath(workspacePath);
  if (isAbsolute(path) && !path.includes("\0")) {
    const directory = await realpath(dirname(path)).catch(() => undefined);
    const resolved = directory === undefined ? undefined : join(directory, basename(path));
    if (resolved !== undefined && isInside(root, resolved)) return resolved;
    if (directory === undefined && isInside(root, join(path)))
      throw new DevtoolError(`the directory of ${quoted(path)} does not exist`, Code.NotFound);
  }
  throw new DevtoolError(
    `path ${quoted(path)} is outside of workspace ${quoted(workspacePath)}`,
    Code.PermissionDenied,
  );
}
