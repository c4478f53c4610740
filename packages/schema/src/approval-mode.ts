import { ApprovalMode } from "./gen/devtool/v1alpha/session_settings_pb.ts";
import type { Task } from "./gen/devtool/v1alpha/task_pb.ts";

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
 * A mode that is not known, as a newer client may send, leaves the operator's.
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
 * Returns the approval mode of a task's session, within the limit that the task
 * has since its conversation began. It narrows the mode of any operator whose
 * server runs the task. Unspecified when neither is set.
 */
export function approvalModeOf({
  approvalLimit,
  sessionSettings,
}: Pick<Task, "approvalLimit" | "sessionSettings">): ApprovalMode {
  const session = sessionSettings?.approvalMode ?? ApprovalMode.UNSPECIFIED;
  return approvalLimit === ApprovalMode.UNSPECIFIED
    ? session
    : stricterMode(approvalLimit, session);
}
