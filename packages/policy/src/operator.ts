// The names of @devtool/policy/operator: for the command, which is a
// bundle. Not part of the published package.

export { ApprovalFile } from "./approval-file.ts";
export type { PlainCall } from "./call-request.ts";
export { explainDecision } from "./explain-decision.ts";
export { approvalId } from "./saved-approvals.ts";
