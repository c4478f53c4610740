import { directoryAt, realPath } from "@devtool/internal/real-path";
import { Code, DevtoolError, quoted } from "../errors.ts";
import type { WorkspaceRoots } from "../files/workspace-roots.ts";
import type { TaskStore } from "../store/task-store.ts";

/** The workspace of a task, and why this server cannot work in it. */
export interface ReachedWorkspace {
  readonly workspacePath: string;
  /** Undefined when the server can work in the workspace. */
  readonly problem: DevtoolError | undefined;
}

/**
 * The workspaces in which this server can work: another server of the same
 * store may have begun a task where only it can.
 */
export class WorkspaceReach {
  readonly #store: TaskStore;
  readonly #assertReachable: ((workspacePath: string) => void) | undefined;

  /**
   * `assertReachable` throws for a workspace in which this server cannot work;
   * without it, the server can work in all.
   */
  constructor(
    store: TaskStore,
    assertReachable: ((workspacePath: string) => void) | undefined,
  ) {
    this.#store = store;
    this.#assertReachable = assertReachable;
  }

  /** Returns the workspace of a task that may be open at another server. */
  async of(taskId: string): Promise<ReachedWorkspace> {
    for await (const { payload } of this.#store.readEvents(taskId, 0n)) {
      const workspacePath =
        (payload.case === "created" && payload.value.settings?.workspacePath) ||
        "";
      return { workspacePath, problem: this.problemOf(workspacePath) };
    }
    return { workspacePath: "", problem: undefined };
  }

  /**
   * Returns why this server cannot work in a workspace. Undefined when it can.
   */
  problemOf(workspacePath: string): DevtoolError | undefined {
    try {
      this.#assertReachable?.(workspacePath);
      return undefined;
    } catch (reason) {
      return DevtoolError.from(reason);
    }
  }
}

/**
 * Throws `Code.Unavailable` when this server cannot work in the workspace of a
 * task that another server began: the directory is not here, or not in its
 * roots.
 *
 * @param path the real path of the workspace; empty for a task without one
 * @param roots the directories that may contain workspaces
 */
export function assertReachable(path: string, roots: WorkspaceRoots): void {
  if (path === "") return;
  const isHere = directoryAt(realPath(path)) === path;
  if (isHere && roots.contains(path)) return;
  const why = isHere
    ? "is outside the roots of this server (--root)"
    : "is not on this server";
  throw new DevtoolError(`workspace ${quoted(path)} ${why}`, Code.Unavailable, {
    remedy:
      "share the directory with all servers under this path, or route the requests of its tasks to those that have it",
  });
}
