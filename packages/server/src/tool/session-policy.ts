import type { ApprovalMode } from "@devtool/schema";
import { createPolicyEngine } from "./policy/rule-policy.ts";
import type { PolicyEngine } from "./policy-engine.ts";

/** The policy of a session without rules, saved approvals and sandbox. */
export function createSessionPolicy(mode: ApprovalMode): PolicyEngine {
  return createPolicyEngine({ mode, workspace: "/", shellConfinement: "none" });
}
