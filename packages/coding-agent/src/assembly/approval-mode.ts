import { ApprovalMode } from "@devtool/schema";

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
