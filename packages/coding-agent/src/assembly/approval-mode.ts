import { ApprovalMode, type Task } from "@devtool/schema";
import type { AgentHost } from "./host.ts";

const STRICTEST_FIRST = [
  ApprovalMode.PLAN,
  ApprovalMode.DEFAULT,
  ApprovalMode.AUTO_EDIT,
  ApprovalMode.YOLO,
];

/**
 * Returns the stricter of the operator's mode and a session's: a session can
 * only be stricter (SESSION-3).
 *
 * A mode that this server does not know, as a newer client may send, leaves the
 * operator's.
 */
export function stricterMode(
  operator: ApprovalMode,
  session: ApprovalMode,
): ApprovalMode {
  const operatorMode = operator || ApprovalMode.DEFAULT;
  const sessionMode = session || operatorMode;
  const rank = STRICTEST_FIRST.indexOf(sessionMode);
  return rank >= 0 && rank < STRICTEST_FIRST.indexOf(operatorMode)
    ? sessionMode
    : operatorMode;
}

/**
 * Returns the stricter one of the operator's and the session's approval mode
 * (SESSION-3).
 */
export function approvalModeOf(
  { dependencies }: AgentHost,
  { sessionSettings }: Task,
): ApprovalMode {
  const { approvalMode = ApprovalMode.DEFAULT } = dependencies.options;
  return stricterMode(
    approvalMode,
    sessionSettings?.approvalMode ?? ApprovalMode.UNSPECIFIED,
  );
}
