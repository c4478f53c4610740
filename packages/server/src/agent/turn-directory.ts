import { isAbsolute } from "node:path";
import { directoryAt, isInside, realPath } from "@devtool/internal/real-path";
import type { Message, Task } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "../errors.ts";
import { assertWorkspaceInPlace } from "../files/workspace-roots.ts";

/**
 * Returns the directory in which the turn of a prompt works: the real path of
 * the one that its settings name, or else the workspace of the session. Empty
 * without a workspace.
 *
 * Throws `Code.InvalidArgument` when it is not a directory in the workspace, and
 * `Code.FailedPrecondition` when the workspace is not where it was. An agent
 * asks at the start of each turn, since what ran before may have put a link in
 * its place.
 */
export function turnDirectory(
  { settings }: Pick<Task, "settings">,
  prompt: Message | undefined,
): string {
  const workspace = settings?.workspacePath ?? "";
  assertWorkspaceInPlace(workspace);
  const wanted = prompt?.turnSettings?.workingDirectory ?? "";
  if (wanted === "") return workspace;
  if (!isAbsolute(wanted)) throw unusable(wanted, "must be an absolute path");
  const real = directoryAt(realPath(wanted));
  if (real === undefined) {
    throw unusable(wanted, "must be a directory that exists on the server");
  }
  if (workspace === "" || !isInside(workspace, real)) {
    throw unusable(
      wanted,
      `is outside of the session's workspace ${quoted(workspace)}`,
    );
  }
  return real;
}

function unusable(path: string, problem: string): DevtoolError {
  const field = "message_settings.turn.working_directory";
  return new DevtoolError(
    `${field} ${quoted(path)} ${problem}`,
    Code.InvalidArgument,
    {
      remedy: "name a directory in the workspace, or none",
      details: { field, value: path },
    },
  );
}
