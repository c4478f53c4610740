// The public names of @devtool/policy, one by one. Adding a name is adding API.
export type { ApprovalStorage } from "./approval-storage.ts";
export { callRequest } from "./call-request.ts";
export type { CompiledRule } from "./compiled-rule.ts";
export { describeRule } from "./describe-rule.ts";
export {
  createFileAccess,
  createReadDecision,
  type FileAccess,
  type ReadDecision,
} from "./file-rules.ts";
export { isGuardedPath } from "./guarded-paths.ts";
export { parsePolicyFile } from "./parse-policy-file.ts";
export {
  type PolicyDecision,
  type PolicyEngine,
  type PolicyRequest,
  READS_ONLY,
  type ToolFacts,
} from "./policy-engine.ts";
export { PolicyError } from "./policy-error.ts";
export { readRules, type ServerRules } from "./policy-file.ts";
export { digestRules } from "./rule-digest.ts";
export { createPolicyEngine } from "./rule-policy.ts";
export { SavedApprovals } from "./saved-approvals.ts";
export {
  createShellAnalyzer,
  type ShellAnalyzer,
} from "./shell/shell-analysis.ts";
export { tomlProblem } from "./toml-problem.ts";
