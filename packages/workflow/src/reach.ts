import type { RemoteAgent } from "@devtool/coding-agent/delegate";
import {
  ApprovalMode,
  approvalModeOf,
  stricterMode,
  type Task,
} from "@devtool/schema";

/** What decides which agents others may be given work from. */
export interface CallingOptions {
  /** Agents elsewhere that may get work. Default: none. */
  readonly remoteAgents?: readonly RemoteAgent[] | undefined;
  /** How many agents may call each other in a row, from 1 to 8. Default: 3. */
  readonly maxDepth?: number | undefined;
  /**
   * How long an agent may say nothing while it works, in milliseconds. Default:
   * 30 minutes.
   */
  readonly silenceMs?: number | undefined;
  /**
   * The operator's approval mode. Agents that follow none get no work of
   * sessions with a stricter one. Default: `DEFAULT`.
   */
  readonly approvalMode?: ApprovalMode | undefined;
}

/** Returns the mode of a task, and what it is narrower than, if it is. */
export function modesOf(
  task: Task,
  { approvalMode = ApprovalMode.DEFAULT }: CallingOptions,
): { readonly mode: ApprovalMode; readonly operatorMode: ApprovalMode } {
  const mode = approvalModeOf(task);
  const isNarrowed = stricterMode(approvalMode, mode) !== approvalMode;
  return { mode, operatorMode: isNarrowed ? approvalMode : mode };
}

/**
 * Returns the setting by which a session is narrower than its operator allows,
 * which an agent elsewhere does not follow; undefined for none.
 */
export function narrowedBy(
  task: Task,
  options: CallingOptions,
): "allowed_tools" | "approval_mode" | undefined {
  const { mode, operatorMode } = modesOf(task, options);
  if ((task.sessionSettings?.allowedTools ?? []).length > 0) {
    return "allowed_tools";
  }
  return mode === operatorMode ? undefined : "approval_mode";
}
