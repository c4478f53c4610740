import { isInside, realPathOrMissing } from "@devtool/internal/real-path";
import type { ReadDecision } from "@devtool/policy";
import type { IdeContext } from "@devtool/schema";
import type { CommandPlace } from "@devtool/server/agent";
import type { Ide, IdeConnection } from "../tool/ide.ts";
import { trustProblem, type WorkspaceTrust } from "../trust/trust.ts";

/** Dependencies of `UserIde`. */
export interface UserIdeDependencies {
  /** Undefined for an agent that uses no editors. */
  readonly ide: Ide | undefined;
  /** The principal whose editors they are. */
  readonly operator: string;
  readonly trust: WorkspaceTrust;
}

/**
 * The editors of the server's user, for those who may use them: the operator,
 * in a workspace that they trust.
 */
export class UserIde {
  readonly #dependencies: UserIdeDependencies;

  constructor(dependencies: UserIdeDependencies) {
    this.#dependencies = dependencies;
  }

  /** Whether a principal has editors at all. */
  isFor(principal: string): boolean {
    const { ide, operator } = this.#dependencies;
    return ide !== undefined && principal === operator;
  }

  /** Returns the editor of a workspace, or why there is none. */
  async connect(
    { principal, workspacePath }: CommandPlace,
    signal: AbortSignal,
  ): Promise<IdeConnection> {
    const { ide, trust } = this.#dependencies;
    const none = (reason: string) => ({ case: "none", reason }) as const;
    if (!ide || !this.isFor(principal)) {
      return none("only the user who started the server has an editor here");
    }
    if (workspacePath === "") return none("the session has no workspace");
    const problem = trustProblem(
      workspacePath,
      await trust.trustOf(workspacePath),
    );
    if (problem !== "") return none(problem);
    const found = await ide.connect(workspacePath, signal);
    if (found.case === "none" || found.link.isTrusted) return found;
    return none(`${found.link.editor} does not trust the workspace`);
  }

  /**
   * Returns what the editor of a workspace shows; undefined when there is none.
   * Leaves out files outside of the workspace, and what is in files that the
   * rules do not let the agent read.
   */
  async context(
    place: CommandPlace,
    decideReading: ReadDecision,
    signal: AbortSignal,
  ): Promise<IdeContext | undefined> {
    const found = await this.connect(place, signal);
    if (found.case === "none") return undefined;
    const context = found.link.context();
    const files = context.files.flatMap((file) => {
      const path = pathInside(place.workspacePath, file.path);
      if (path === undefined) return [];
      return decideReading(path) === "allow"
        ? [file]
        : [{ ...file, selectedText: "" }];
    });
    return { ...context, files };
  }
}

/** Returns a path relative to the workspace; undefined when it is outside. */
function pathInside(workspace: string, path: string): string | undefined {
  const [root, real] = [workspace, path].map(realPathOrMissing);
  if (root === undefined || real === undefined) return undefined;
  return isInside(root, real) && real !== root
    ? real.slice(root.length + 1)
    : undefined;
}
