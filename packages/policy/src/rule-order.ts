import { type CompiledRule, evaluateRule } from "./compiled-rule.ts";
import type { PolicySubject } from "./policy-subject.ts";

const TIERS: readonly CompiledRule["tier"][] = ["operator", "user"];
const STRICTEST_FIRST: readonly CompiledRule["decision"][] = [
  "deny",
  "ask",
  "allow",
];

/**
 * Sorts rules into the order in which they decide.
 *
 * An operator's rule comes before a user's, then the higher priority, then the
 * stricter decision.
 */
export function sortRules(rules: readonly CompiledRule[]): CompiledRule[] {
  return rules.toSorted(
    (one, other) =>
      TIERS.indexOf(one.tier) - TIERS.indexOf(other.tier) ||
      other.rule.priority - one.rule.priority ||
      STRICTEST_FIRST.indexOf(one.decision) -
        STRICTEST_FIRST.indexOf(other.decision),
  );
}

/** The rule that decides about a call, and its decision. */
export interface RuleVerdict {
  readonly compiled: CompiledRule;
  /**
   * The rule's own decision, or `ask` where one of its conditions could not be
   * checked.
   */
  readonly decision: CompiledRule["decision"];
}

/**
 * Returns the first of sorted rules that applies to a call; undefined when none
 * does.
 */
export function findDecidingRule(
  rules: readonly CompiledRule[],
  subject: PolicySubject,
): RuleVerdict | undefined {
  for (const compiled of rules) {
    const decision = evaluateRule(compiled, subject);
    if (decision) return { compiled, decision };
  }
  return undefined;
}
