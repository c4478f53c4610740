import { constants } from "node:fs";
import { type FileHandle, open, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, normalize } from "node:path";
import {
  type DirectoryAccess,
  directoryAccess,
} from "@devtool/internal/directory-access";
import { isInside } from "@devtool/internal/real-path";
import {
  assertWorkspaceInPlace,
  Code,
  DevtoolError,
  quoted,
} from "@devtool/server/agent";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

/**
 * A name in an open directory of a workspace.
 *
 * What is opened by `path` is in that directory, even if the path that the
 * agent named leads elsewhere by now. The name itself may be a symbolic link:
 * open it so that it is not followed.
 */
export class WorkspacePlace implements AsyncDisposable {
  /**
   * The path below the workspace's own, without symbolic links in its
   * directories.
   */
  readonly shownPath: string;
  /**
   * The path by which the name is opened (`DirectoryAccess`). Call `verify`
   * after each use.
   */
  readonly path: string;
  readonly #directory: FileHandle;
  readonly #shownDirectory: string;
  readonly #access: DirectoryAccess;

  private constructor(
    directory: FileHandle,
    shownDirectory: string,
    name: string,
    access: DirectoryAccess,
  ) {
    this.#access = access;
    this.#directory = directory;
    this.#shownDirectory = shownDirectory;
    this.shownPath = join(shownDirectory, name);
    this.path = join(this.#reach(), name);
  }

  /**
   * Opens the directory of a file. The caller must dispose of the result.
   *
   * Throws `Code.PermissionDenied` for a path that leads out of the workspace,
   * `Code.InvalidArgument` for one that is not absolute or names no file, and
   * `Code.NotFound` when the directory does not exist.
   */
  static async open(
    workspacePath: string,
    path: string,
    access: DirectoryAccess = directoryAccess,
  ): Promise<WorkspacePlace> {
    if (!isUsable(path)) {
      throw new DevtoolError(
        `path ${quoted(path)} is not absolute`,
        Code.InvalidArgument,
        { remedy: `begin it with ${quoted(workspacePath)}` },
      );
    }
    const name = basename(path);
    if (path.endsWith("/") || ["", ".", ".."].includes(name)) {
      throw new DevtoolError(
        `path ${quoted(path)} names no file`,
        Code.InvalidArgument,
      );
    }
    const { directory, shownPath } = await openDirectory(
      workspacePath,
      dirname(path),
      path,
    );
    return new WorkspacePlace(directory, shownPath, name, access);
  }

  /**
   * Throws `Code.FailedPrecondition` when the directory, or the file that was
   * opened in it, is not at its path any more. Always passes where the kernel
   * opens files by descriptors.
   *
   * @param name the name of the file. Default: the one of this place.
   */
  verify(file?: FileHandle, name: string = basename(this.shownPath)): void {
    this.#reach();
    const isThere =
      file === undefined ||
      this.#access.reach(file.fd, join(this.#shownDirectory, name)) !==
        undefined;
    if (!isThere) throw changedError(this.shownPath);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#directory.close();
  }

  #reach(): string {
    const directory = this.#shownDirectory;
    const path = this.#access.reach(this.#directory.fd, directory);
    if (path === undefined) throw changedError(directory);
    return path;
  }
}

function changedError(path: string): DevtoolError {
  return new DevtoolError(
    `path ${quoted(path)} was changed while it was used`,
    Code.FailedPrecondition,
    { remedy: "try again" },
  );
}

/**
 * Returns the path of a directory below the workspace's own, without symbolic
 * links. Throws like `WorkspacePlace.open`.
 */
export async function workspaceDirectoryOf(
  workspacePath: string,
  path: string,
): Promise<string> {
  if (!isUsable(path)) {
    throw new DevtoolError(
      `directory ${quoted(path)} is not absolute`,
      Code.InvalidArgument,
      { remedy: `begin it with ${quoted(workspacePath)}` },
    );
  }
  const { directory, shownPath } = await openDirectory(
    workspacePath,
    path,
    path,
  );
  await directory.close();
  return shownPath;
}

/** Whether a path is absolute, and the system would take it as it is. */
function isUsable(path: string): boolean {
  return isAbsolute(path) && !path.includes("\0") && path.isWellFormed();
}

/** @param named the path of the agent, for errors */
async function openDirectory(
  workspacePath: string,
  path: string,
  named: string,
): Promise<{ readonly directory: FileHandle; readonly shownPath: string }> {
  assertWorkspaceInPlace(workspacePath);
  const outside = new DevtoolError(
    `path ${quoted(named)} is outside of workspace ${quoted(workspacePath)}`,
    Code.PermissionDenied,
  );
  const real = await realpath(path).catch((reason: unknown) => {
    // Whoever asks about another place does not learn whether it exists.
    throw isInside(workspacePath, normalize(path))
      ? placeError(named, reason)
      : outside;
  });
  if (!isInside(workspacePath, real)) throw outside;
  const directory = await open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(
    (reason: unknown) => {
      throw placeError(named, reason);
    },
  );
  // A directory on the way may have become a link since.
  const shownPath = directoryAccess.realPath(directory.fd, real);
  if (shownPath !== undefined && isInside(workspacePath, shownPath)) {
    return { directory, shownPath };
  }
  await directory.close();
  throw outside;
}

function placeError(path: string, reason: unknown): DevtoolError {
  const code = systemCodeOf(reason);
  if (code === "ENOENT" || code === "ENOTDIR") {
    return new DevtoolError(
      `the directory of ${quoted(path)} does not exist`,
      Code.NotFound,
      { cause: reason },
    );
  }
  return new DevtoolError(
    `path ${quoted(path)} cannot be opened: ${code}`,
    Code.InvalidArgument,
    { cause: reason },
  );
}

/** Returns the code of an error of a system call, such as `ENOENT`. */
export function systemCodeOf(reason: unknown): string {
  return reason instanceof Error && "code" in reason
    ? String(reason.code)
    : "unknown error";
}
