import type { JsonObject } from "@bufbuild/protobuf";
import type { ApprovalMode, ConfirmationRequest } from "@devtool/schema";

/**
 * Decides about a permission request of an agent in place of the user. Called
 * before the user is asked. When it throws, the user decides.
 *
 * The signal aborts when the turn of the agent does.
 */
export interface PermissionPolicy {
  (
    request: PermissionRequest,
    signal: AbortSignal,
  ): PermissionDecision | Promise<PermissionDecision>;

  /** What decides. Default: nothing that is the same for all requests. */
  readonly basis?: ApprovalBasis | undefined;
}

/** What decides how far an agent goes without asking. */
export interface ApprovalBasis {
  /**
   * The operator's approval mode. The server keeps it with each new
   * conversation: no server that runs its tasks later goes further.
   */
  readonly approvalMode: ApprovalMode;

  /**
   * What decides about calls beside the mode, such as a digest of rules and the
   * kind of sandbox; empty for nothing. Servers that share a store compare it at
   * the start.
   */
  readonly rules: string;
}

/** A permission request of an agent, as the user would see it. */
export interface PermissionRequest {
  /** The absolute path of the session's workspace. */
  readonly workspacePath: string;

  /** The principal that the task belongs to. */
  readonly principal: string;

  /** For whom the agent works now: rules about callers decide by it. */
  readonly caller: {
    /** The authenticated principal, without the tenant that it named. */
    readonly principal: string;
    /** The roles that the caller had when it sent what the agent works on. */
    readonly roles: readonly string[];
    /** The name of the agent. Empty when that is not known. */
    readonly agent: string;
  };

  /**
   * The approval mode that the session asks for
   * (`SessionSettings.approval_mode`), within the limit of its task
   * (`Task.approval_limit`). It can only narrow the operator's.
   */
  readonly approvalMode: ApprovalMode;

  /**
   * The name of the tool, as the agent gives it; its kind if it has no name.
   */
  readonly toolName: string;

  /**
   * The kind of the tool: `read`, `edit`, `delete`, `move`, `search`,
   * `execute`, `think`, `fetch`, `switch_mode` or `other`.
   */
  readonly kind: string;

  /** What the call does, in the words of the agent; may be empty. */
  readonly title: string;

  /** The arguments of the call; empty when the agent names none. */
  readonly input: JsonObject;

  /** What the user would be asked to approve. */
  readonly details: ConfirmationRequest["details"];

  /** The absolute paths of the files that the call is about. */
  readonly paths: readonly string[];
}

/** The decision of a `PermissionPolicy`. */
export type PermissionDecision =
  /**
   * The user decides. `rule` names the rule that wants that; without one,
   * nothing was decided, and the user's earlier answer for all changes counts.
   */
  | { readonly case: "ask"; readonly rule?: string }
  /** The call runs; `rule` names the rule that allows it. */
  | { readonly case: "allow"; readonly rule: string }
  /**
   * The call does not run; `rule` names the rule that denies it, and `reason`
   * explains it to the user.
   */
  | { readonly case: "deny"; readonly rule: string; readonly reason: string };
