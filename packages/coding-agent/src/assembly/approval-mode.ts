import { ApprovalMode } from "@devtool/schema";

/** The stricter of the operator's mode and a session's: a session can only narrow (SESSION-3). */
export function narrower(operator: ApprovalMode, session: ApprovalMode): ApprovalMode {
  if (session === ApprovalMode.UNSPECIFIED) return operator || ApprovalMode.DEFAULT;
  return FREEDOM.indexOf(session) < FREEDOM.indexOf(operator || ApprovalMode.DEFAULT)
    ? session
    : operator || ApprovalMode.DEFAULT;
}

/** The modes, the strictest first. */
const FREEDOM = [ApprovalMode.PLAN, ApprovalMode.DEFAULT, ApprovalMode.AUTO_EDIT, ApprovalMode.YOLO];
