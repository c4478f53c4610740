import { ApprovalMode, type PolicyRule } from "@devtool/schema";
import { type CompiledRule, evaluateRule } from "./compiled-rule.ts";
import { describeRule } from "./describe-rule.ts";
import type { PolicyDecision, PolicyRequest } from "./policy-engine.ts";
import {
  aboutCommand,
  type PolicySubject,
  policySubject,
} from "./policy-subject.ts";
import { sortRules } from "./rule-order.ts";
import { createPolicyEngine, type PolicyOptions } from "./rule-policy.ts";
import { createShellAnalyzer } from "./shell/shell-analysis.ts";

/** A rule that matches a call, or nearly does. */
interface RuleNote {
  readonly compiled: CompiledRule;
  readonly description: string;
  /** Why the rule does not decide; empty for the one that does. */
  readonly reason: string;
}

/** A decision, and what became of the rules that are about the call. */
interface Explanation extends PolicyDecision {
  /** The rules of files, in the order in which they decide. */
  readonly rules: readonly RuleNote[];
  /** The saved approvals that match the call. */
  readonly saved: readonly RuleNote[];
}

/**
 * Decides about a call as `createPolicyEngine` does, and says of each rule that
 * is about the call why it decides or does not.
 *
 * A rule is about a call if it matches the call, or would for another caller or
 * in another mode; of a command line, if it matches one of its commands.
 */
export async function explainDecision(
  request: PolicyRequest,
  options: PolicyOptions,
  signal: AbortSignal,
): Promise<Explanation> {
  const { analyze = createShellAnalyzer(), rules = [], saved } = options;
  const engine = createPolicyEngine({ ...options, analyze });
  const decision = await engine.decide(request, signal);
  const whole = policySubject(request, {
    mode: options.mode ?? ApprovalMode.DEFAULT,
    workspace: options.workspace,
    caller: options.caller,
  });
  const { details } = request;
  const analysis =
    details?.case === "executeDetails"
      ? await analyze(details.value.command)
      : undefined;
  const subjects = analysis
    ? analysis.commands.map(({ words }) =>
        aboutCommand(whole, words, analysis.redirections),
      )
    : [whole];
  const sorted = sortRules(rules);
  const label = decision.rule.replace(/ ?mcp:\S*$/, "");
  const decider = sorted.find(
    (rule) => rule.label === label && matches(rule, subjects),
  );
  const noteOf = (compiled: CompiledRule): RuleNote[] => {
    const reason =
      compiled === decider
        ? ""
        : whyNot(compiled, subjects, { decision, decider });
    if (reason === undefined) return [];
    return [{ compiled, reason, description: describeRule(compiled.rule) }];
  };
  const approvals = (await saved?.current()) ?? [];
  return {
    ...decision,
    rules: sorted.flatMap(noteOf),
    saved: approvals
      .filter((approval) => matches(approval, subjects))
      .map((compiled) => ({
        compiled,
        description: describeRule(compiled.rule),
        reason: compiled.label === label ? "" : becauseOf(decision),
      })),
  };
}

/** What decided, for `whyNot`. */
interface Decided {
  readonly decision: PolicyDecision;
  /** Undefined where no rule of a file did. */
  readonly decider: CompiledRule | undefined;
}

/**
 * Returns why a rule does not decide about a call; undefined for one that is
 * not about it.
 */
function whyNot(
  compiled: CompiledRule,
  subjects: readonly PolicySubject[],
  { decision, decider }: Decided,
): string | undefined {
  const missed = missedCondition(compiled, subjects);
  if (missed !== "") return missed;
  if (!decider) return becauseOf(decision);
  if (decider.tier !== compiled.tier) {
    return compiled.tier === "user"
      ? `${decider.label} is the operator's, which decides first`
      : becauseOf(decision);
  }
  const [own, other] = [compiled.rule.priority, decider.rule.priority];
  if (own < other) {
    return `its priority is ${own}, and that of ${decider.label} is ${other}`;
  }
  if (own > other || strictness(compiled) > strictness(decider)) {
    // It decides about another command of the line.
    return becauseOf(decision);
  }
  return strictness(compiled) < strictness(decider)
    ? `${decider.label} is stricter, at the same priority`
    : `${decider.label} comes first, and decides the same`;
}

/**
 * Returns the condition about the caller or the mode that alone keeps a rule
 * from matching; empty where the rule matches, undefined where others do not.
 */
function missedCondition(
  compiled: CompiledRule,
  subjects: readonly PolicySubject[],
): string | undefined {
  if (matches(compiled, subjects)) return "";
  const { principal, role, agent, modes } = compiled.rule;
  const without = (left: Partial<PolicyRule>): boolean =>
    matches({ ...compiled, rule: { ...compiled.rule, ...left } }, subjects);
  if (without({ principal: [] })) return `it is for ${principal.join(", ")}`;
  if (without({ role: [] })) return `it is for role ${role.join(", ")}`;
  if (without({ agent: [] })) return `it is for agent ${agent.join(", ")}`;
  if (without({ principal: [], role: [], agent: [] })) {
    return "it is for other callers";
  }
  const [{ mode } = { mode: ApprovalMode.DEFAULT }] = subjects;
  if (!without({ modes: [mode] })) return undefined;
  return modes.length === 0
    ? "it does not apply in plan mode"
    : "it applies in another mode";
}

function matches(
  compiled: CompiledRule,
  subjects: readonly PolicySubject[],
): boolean {
  return subjects.some(
    (subject) => evaluateRule(compiled, subject) !== undefined,
  );
}

/** Why something that matches does not decide, where no rule outweighs it. */
function becauseOf({ decision, rule, reason }: PolicyDecision): string {
  const by = rule === "" ? "" : ` by ${rule}`;
  const why = reason === "" || reason === `by ${rule}` ? "" : `: ${reason}`;
  switch (decision) {
    case "allow":
      return `the call is allowed${by}${why}`;
    case "ask":
      return `the call, or a part of it, asks${by}${why}`;
    case "deny":
      return `the call, or a part of it, is denied${by}${why}`;
    default:
      return decision satisfies never;
  }
}

function strictness({ decision }: CompiledRule): number {
  return ["allow", "ask", "deny"].indexOf(decision);
}
