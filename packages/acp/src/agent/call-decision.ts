import { callerOfTask } from "@devtool/internal/task-caller";
import {
  ApprovalMode,
  approvalModeOf,
  OPTION_PROCEED_ALWAYS,
} from "@devtool/schema";
import type {
  PermissionDecision,
  PermissionPolicy,
  Turn,
} from "@devtool/server/agent";
import type { CallBook } from "./call-book.ts";
import type { ClientAction } from "./client-action.ts";

/** The dependencies of `CallDecision`. */
export interface CallDecisionOptions {
  readonly turn: Turn;
  readonly book: CallBook;
  readonly permission: PermissionPolicy | undefined;
  /**
   * Whether the user has allowed the agent's changes of files for as long as it
   * runs.
   */
  readonly allowsEdits: () => boolean;
}

/**
 * Decides about the calls of a turn before the user is asked: by the policy,
 * and by what the user has allowed already.
 */
export class CallDecision {
  readonly #options: CallDecisionOptions;

  constructor(options: CallDecisionOptions) {
    this.#options = options;
  }

  /**
   * @param action what the client does for the agent; undefined for what the
   * agent does itself
   */
  async about(
    id: string,
    action: ClientAction | undefined,
    signal: AbortSignal,
  ): Promise<PermissionDecision> {
    const decision = await this.#byPolicy(id, signal);
    if (decision.case !== "ask" || decision.rule !== undefined) return decision;
    if (action?.case === "read") return { case: "allow", rule: "" };
    // The user may have allowed them before the session was put into plan mode.
    const isPlan = this.#approvalMode === ApprovalMode.PLAN;
    if (action?.case === "write" && this.#options.allowsEdits() && !isPlan) {
      return { case: "allow", rule: OPTION_PROCEED_ALWAYS };
    }
    return decision;
  }

  async #byPolicy(
    id: string,
    signal: AbortSignal,
  ): Promise<PermissionDecision> {
    const { permission, turn, book } = this.#options;
    if (!permission) return { case: "ask" };
    const { described } = book.call(id);
    const request = {
      workspacePath: turn.task.settings?.workspacePath ?? "",
      principal: turn.task.principal,
      caller: callerOfTask(turn.task),
      approvalMode: this.#approvalMode,
      toolName: described.toolName,
      kind: described.kind,
      title: described.title,
      input: described.input,
      paths: described.paths,
    };
    try {
      const decisions = await Promise.all(
        described.claims.map((details) =>
          permission({ ...request, details }, signal),
        ),
      );
      return strictest(decisions);
    } catch {
      signal.throwIfAborted();
      return { case: "ask" };
    }
  }

  get #approvalMode(): ApprovalMode {
    return approvalModeOf(this.#options.turn.task);
  }
}

/** Returns the decision about a call of which several were decided about. */
function strictest(
  decisions: readonly PermissionDecision[],
): PermissionDecision {
  const asking = decisions.filter((decision) => decision.case === "ask");
  return (
    decisions.find((decision) => decision.case === "deny") ??
    asking.find(({ rule }) => rule !== undefined) ??
    asking[0] ??
    decisions[0] ?? { case: "ask" }
  );
}
