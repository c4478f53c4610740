import { isAbsolute } from "node:path";
import { invalid } from "../errors.ts";
import { directoryAt, isInside, realPath } from "../files/real-path.ts";

/** The directories in which sessions may work. */
export interface WorkspaceOptions {
  /**
   * The workspace of clients that name none: an absolute path. Undefined when
   * clients must name one.
   */
  readonly workspace: string | undefined;
  /** The directories that may contain workspaces: absolute paths. */
  readonly workspaceRoots: readonly string[];
  /**
   * The directory of the server's tasks and token. A workspace may neither
   * contain it nor lie in it.
   */
  readonly dataDirectory: string | undefined;
}

/**
 * Returns the real path of the workspace that a client named, or of the default
 * one when it named none. Throws `Code.InvalidArgument` when no session may
 * work there.
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
    throw invalid("workspace_path", requested, "must be an absolute path");
  }
  // Each path is looked up once: the default workspace is usually the only
  // root.
  const paths = new Set([requested, dataDirectory, ...workspaceRoots]);
  const real = new Map([...paths].map((path) => [path, realPath(path)]));
  const path = directoryAt(real.get(requested));
  if (path === undefined) {
    throw invalid(
      "workspace_path",
      requested,
      "must be a directory that exists on the server",
    );
  }
  const isPermitted = workspaceRoots.some((root) => {
    const found = real.get(root);
    return found !== undefined && isInside(found, path);
  });
  if (!isPermitted) {
    const known = workspaceRoots.join(", ");
    const remedy = `choose a directory in ${known}, or start the server with --root for another`;
    throw invalid(
      "workspace_path",
      requested,
      "is outside the allowed roots",
      remedy,
    );
  }
  const data = real.get(dataDirectory);
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
