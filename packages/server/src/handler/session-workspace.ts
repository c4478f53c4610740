import { isAbsolute } from "node:path";
import { directoryAt, isInside, realPath } from "@devtool/internal/real-path";
import { invalid } from "../errors.ts";
import type { WorkspaceRoots } from "../files/workspace-roots.ts";

/** The directories in which sessions may work. */
export interface WorkspaceOptions {
  /**
   * The workspace of clients that name none: an absolute path. Undefined when
   * clients must name one.
   */
  readonly workspace: string | undefined;
  /** The directories that may contain workspaces. */
  readonly workspaceRoots: WorkspaceRoots;
  /**
   * The directory of the server's tasks and token. A workspace may neither
   * contain it nor lie in it.
   */
  readonly dataDirectory: string | undefined;
}

/**
 * Returns the real path of the workspace that a client named for a new session,
 * or of the default one when it named none. Throws `Code.InvalidArgument` when no session may
 * work there, and `Code.FailedPrecondition` when it is in a root that leads
 * elsewhere now.
 */
export function resolveWorkspace(
  named: string | undefined,
  { workspace, workspaceRoots, dataDirectory = "" }: WorkspaceOptions,
): string {
  const requested = named || workspace;
  if (requested === undefined) {
    const problem =
      "is missing: this server has no default workspace, so the first message of a session names one";
    throw invalid("workspace_path", "", problem);
  }
  if (!isAbsolute(requested)) {
    // The path of a client's own machine, such as C:\\work.
    const problem = `must be an absolute path of the server, which runs on ${process.platform}`;
    throw invalid("workspace_path", requested, problem);
  }
  workspaceRoots.assertInPlace(requested);
  const path = directoryAt(realPath(requested));
  if (path === undefined) {
    throw invalid(
      "workspace_path",
      requested,
      "must be a directory that exists on the server",
    );
  }
  if (!workspaceRoots.contains(path)) {
    const known = workspaceRoots.paths.join(", ");
    const remedy = `choose a directory in ${known}, or start the server with --root for another`;
    throw invalid(
      "workspace_path",
      requested,
      "is outside the allowed roots",
      remedy,
    );
  }
  const data = realPath(dataDirectory);
  if (data !== undefined && (isInside(path, data) || isInside(data, path))) {
    const problem = "contains the server's own data, or lies in it";
    throw invalid(
      "workspace_path",
      requested,
      problem,
      `choose a directory beside ${data}`,
    );
  }
  return path;
}
