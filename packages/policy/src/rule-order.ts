import { type CompiledRule, verdictOf } from "./compiled-rule.ts";
import type { PolicySubject } from "./policy-subject.ts";

/** The rule that decides about a call, and what it says. */
export interface RuleVerdict {
  readonly compiled: CompiledRule;
  readonly decision: CompiledRule["decision"];
}

/** Orders rules as they decide: an operator's before a user's, then by priority, then the stricter first. */
export function inOrder(rules: readonly CompiledRule[]): CompiledRule[] {
  return rules.toSorted(
    (one, other) =>
      TIERS.indexOf(one.tier) - TIERS.indexOf(other.tier) ||
      other.rule.priority - one.rule.priority ||
      STRICTEST_FIRST.indexOf(one.decision) - STRICTEST_FIRST.indexOf(other.decision),
  );
}

/** Finds the first of ordered rules that a call meets. */
export function decidingRule(rules: readonly CompiledRule[], subject: PolicySubject): RuleVerdict | undefined {
  for (const compiled of rules) {
    const decision = verdictOf(compiled, subject);
    if (decision) return { compiled, decision };
  }
  return undefined;
}

const TIERS: readonly CompiledRule["tier"][] = ["operator", "user"];
const STRICTEST_FIRST: readonly CompiledRule["decision"][] = ["deny", "ask", "allow"];
