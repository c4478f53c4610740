import { callerOfTask } from "@devtool/internal/task-caller";
import type { ApprovalMode } from "@devtool/schema";
import type {
  PermissionDecision,
  PermissionPolicy,
  Turn,
} from "@devtool/server/agent";
import type { CallApproval } from "./approval.ts";
import type { CallBook } from "./call-book.ts";

/** Dependencies of `CallDecision`. */
export interface CallDecisionOptions {
  readonly turn: Turn;
  readonly calls: CallBook;
  /** Returns the approval mode of the turn, for `permission`. */
  readonly approvalMode: () => ApprovalMode;
  /**
   * Decides about calls before their user is asked. Undefined when the user
   * decides about all.
   */
  readonly permission: PermissionPolicy | undefined;
}

/** Decides by the policy about the calls of a turn, before the user is asked. */
export class CallDecision {
  readonly #options: CallDecisionOptions;

  constructor(options: CallDecisionOptions) {
    this.#options = options;
  }

  /**
   * Returns the decision about a call. The user decides where no rule does,
   * where the policy fails, and where a rule allows a call whose approval would
   * cover more than the call.
   *
   * @param key the key of the call in the `CallBook`
   */
  async about(
    key: string,
    { claim, coversMore }: CallApproval,
    signal: AbortSignal,
  ): Promise<PermissionDecision> {
    const { permission, calls, turn, approvalMode } = this.#options;
    const { task } = turn;
    if (!permission) return { case: "ask" };
    const call = calls.find(key);
    const request = {
      ...claim,
      workspacePath: task.settings?.workspacePath ?? "",
      principal: task.principal,
      caller: callerOfTask(task),
      approvalMode: approvalMode(),
      toolName: call?.toolName ?? "",
      title: call?.description ?? "",
      input: call?.inputParameters ?? {},
    };
    try {
      const decision = await permission(request, signal);
      return decision.case === "allow" && coversMore
        ? { case: "ask" }
        : decision;
    } catch {
      signal.throwIfAborted();
      return { case: "ask" };
    }
  }
}
