import type { ApprovalMode } from "@devtool/schema";
import { approvalRulesFor, describeRules } from "../tool/policy/approval-rules.ts";
import { createPolicyEngine } from "../tool/policy/rule-policy.ts";
import type { PolicyDecision, PolicyEngine, PolicyRequest } from "../tool/policy-engine.ts";
import type { AgentHost } from "./host.ts";

/** The policy of one session: the server's rules, its mode, and what its user approved. */
export function createSessionPolicy(host: AgentHost, mode: ApprovalMode, workspace: string): PolicyEngine {
  const { rules, saved, analyze } = host;
  const engine = (shellConfinement: "none" | "sandbox"): PolicyEngine =>
    createPolicyEngine({ mode, workspace, shellConfinement, rules, analyze, ...(saved && { saved }) });
  const unconfined = engine("none");
  const confined = engine("sandbox");
  const rulesFor = (request: PolicyRequest) => approvalRulesFor(request, { workspace, analyze });
  return {
    async decide(request, signal) {
      const isCommand = request.details?.case === "executeDetails";
      const decider = isCommand && (await host.sandbox()).confines ? confined : unconfined;
      const decision = await decider.decide(request, signal);
      if (decision.decision !== "ask" || !saved) return decision;
      return { ...decision, ...savesOf(await rulesFor(request)) };
    },
    async save(request) {
      const found = await rulesFor(request);
      if (found) await saved?.save(found);
    },
  };
}

function savesOf(rules: Awaited<ReturnType<typeof approvalRulesFor>>): Pick<PolicyDecision, "saves"> {
  return rules ? { saves: describeRules(rules) } : {};
}
