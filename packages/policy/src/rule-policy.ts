import { ApprovalMode, type PolicyRule } from "@devtool/schema";
import { approvalRulesFor, describeRules } from "./approval-rules.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { keepsBack } from "./file-rules.ts";
import { findGrant, withDefinition } from "./grants.ts";
import { isGuardedPath } from "./guarded-paths.ts";
import type { PolicyDecision, PolicyEngine, PolicyRequest } from "./policy-engine.ts";
import { PolicyError } from "./policy-error.ts";
import { type PolicySubject, policySubject } from "./policy-subject.ts";
import { decidingRule, inOrder } from "./rule-order.ts";
import type { SavedApprovals } from "./saved-approvals.ts";
import { createShellAnalyzer, type ShellAnalyzer } from "./shell/shell-analysis.ts";
import { decideCommandLine, type Verdict } from "./shell-decision.ts";

/** What confines shell commands. */
export type Confinement = "none" | "sandbox";

/** How a policy decides. */
export interface PolicyOptions {
  /** How far the agent may go without asking. Default: `ApprovalMode.DEFAULT`, in which every change asks. */
  readonly mode?: ApprovalMode;
  /** The absolute path of the workspace. */
  readonly workspace: string;
  /** What confines shell commands: without a sandbox none runs unasked that no rule names. Found out when one is asked about. */
  readonly shellConfinement: Confinement | (() => Promise<Confinement>);
  /** The rules of the user's and the operator's files. Default: none. */
  readonly rules?: readonly CompiledRule[];
  /** What the user approved for good. Default: nothing. */
  readonly saved?: SavedApprovals;
  /** Reads command lines. Default: one of its own. Sharing one saves loading the readers again. */
  readonly analyze?: ShellAnalyzer;
}

/**
 * The policy of a session: rules decide first, an operator's before a user's; then what the user answered in this task
 * or approved for good; then the mode. What changes nothing runs, and everything else asks unless the mode says more.
 *
 * ```ts
 * const rules = await readPolicyFile({ path: "/etc/agent/policy.toml", tier: "operator" });
 * const policy = createPolicyEngine({ workspace: "/home/me/project", shellConfinement: "sandbox", rules });
 * const { decision, reason } = await policy.decide(callRequest({ case: "command", command: "make" }), signal);
 * ```
 */
export function createPolicyEngine(options: PolicyOptions): PolicyEngine {
  const { saved, analyze = createShellAnalyzer(), workspace, mode = ApprovalMode.DEFAULT } = options;
  const rules = inOrder(options.rules ?? []);
  const sources = (): Sources => ({ ...options, rules, saved: saved?.rules ?? [], analyze });
  return {
    async decide(request, signal) {
      const subject = policySubject(request, { mode, workspace });
      const verdict = withAnswers(await verdictFor(subject, sources()), subject, request);
      const approval = saved && maySave(verdict) ? await approvalRulesFor(request, { workspace, analyze }) : undefined;
      signal.throwIfAborted();
      return decisionOf(verdict, subject, approval);
    },
    ...(saved && {
      save: async (request) => saved.save(approved(await approvalRulesFor(request, { workspace, analyze }))),
    }),
  };
}

function maySave({ decision, answers }: Verdict): boolean {
  return decision === "ask" && answers === "count";
}

function approved(rules: readonly PolicyRule[] | undefined): readonly PolicyRule[] {
  if (rules) return rules;
  throw new PolicyError("approval cannot be saved", "cannot-save", { remedy: "approve the call for this session" });
}

interface Sources {
  readonly rules: readonly CompiledRule[];
  readonly saved: readonly CompiledRule[];
  readonly shellConfinement: PolicyOptions["shellConfinement"];
  readonly analyze: ShellAnalyzer;
}

async function verdictFor(subject: PolicySubject, sources: Sources): Promise<Verdict> {
  if (subject.details?.case !== "executeDetails") return decideCall(subject, sources);
  const { analyze, shellConfinement } = sources;
  const confinement = typeof shellConfinement === "function" ? await shellConfinement() : shellConfinement;
  return decideCommandLine(subject, await analyze(subject.details.value.command), { ...sources, confinement });
}

/** Turns a question into a yes where the user answered it before in this task. */
function withAnswers(verdict: Verdict, subject: PolicySubject, { task }: PolicyRequest): Verdict {
  const mayCount = verdict.decision === "ask" && verdict.answers === "count" && subject.mode !== ApprovalMode.PLAN;
  const grant = mayCount && task ? findGrant(task, subject, verdict.rule) : undefined;
  return grant === undefined ? verdict : { decision: "allow", rule: grant, reason: "", answers: "count" };
}

function decisionOf(
  { decision, rule, reason }: Verdict,
  subject: PolicySubject,
  approval: readonly PolicyRule[] | undefined,
): PolicyDecision {
  const saves = approval && describeRules(approval);
  return {
    ...{ decision, reason },
    rule: withDefinition(rule, subject.facts),
    ...(saves !== undefined && { saves }),
  };
}

function decideCall(subject: PolicySubject, { rules, saved }: Sources): Verdict {
  const found = decidingRule(rules, subject);
  if (!found) return byMode(subject, { rules, saved });
  const { rule, label, tier } = found.compiled;
  const said = { decision: found.decision, rule: label, reason: found.decision === "deny" ? rule.denyMessage : "" };
  if (said.decision !== "ask") return { ...said, answers: "do not count" };
  if (tier === "operator") return { ...said, answers: "do not count" };
  return savedVerdict(subject, saved) ?? { ...said, answers: "count" };
}

function byMode(subject: PolicySubject, { rules, saved }: Pick<Sources, "rules" | "saved">): Verdict {
  const { mode, details, facts, paths, changes } = subject;
  const verdict = (decision: PolicyDecision["decision"], rule: string, reason = ""): Verdict => ({
    ...{ decision, rule, reason },
    answers: "count",
  });
  if (!details && facts.mcpServer === undefined) return verdict("allow", "");
  if (mode === ApprovalMode.PLAN) return verdict("deny", "builtin:plan", "plan mode changes nothing: leave it first");
  const approved = savedVerdict(subject, saved);
  if (approved) return approved;
  const isEdit = details?.case === "fileEditDetails";
  const guarded = changes.find(isGuardedPath);
  if (guarded !== undefined)
    return verdict("ask", "builtin:guarded-path", `${JSON.stringify(guarded)} says what programs or agents do later`);
  if (isEdit && keepsBack(rules, subject))
    return verdict("ask", "builtin:kept-back", "the change shows what is in the file");
  if (mode === ApprovalMode.YOLO) return verdict("allow", "builtin:yolo");
  if (mode === ApprovalMode.AUTO_EDIT && isEdit && !paths.some(isOutside)) return verdict("allow", "builtin:auto-edit");
  return verdict("ask", "");
}

function isOutside(path: string): boolean {
  return path === ".." || path.startsWith("../");
}

function savedVerdict(subject: PolicySubject, saved: readonly CompiledRule[]): Verdict | undefined {
  if (subject.mode === ApprovalMode.PLAN) return undefined;
  const { mcpServer, mcpServerHash } = subject.facts;
  // One that an earlier version saved does not say where its server is: another server can have its name.
  const held = mcpServer === undefined ? saved : saved.filter(({ rule }) => rule.mcpServerHash === mcpServerHash);
  const found = decidingRule(held, subject);
  return found?.decision === "allow"
    ? { decision: "allow", rule: found.compiled.label, reason: "", answers: "count" }
    : undefined;
}
