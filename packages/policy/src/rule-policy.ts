import { ApprovalMode } from "@devtool/schema";
import { approvalRulesFor } from "./approval-rules.ts";
import type { CompiledRule } from "./compiled-rule.ts";
import { describeRule } from "./describe-rule.ts";
import { showsRestrictedFile } from "./file-rules.ts";
import { findGrant, withDefinition } from "./grants.ts";
import { isGuardedPath } from "./guarded-paths.ts";
import type {
  PolicyDecision,
  PolicyEngine,
  PolicyRequest,
} from "./policy-engine.ts";
import { PolicyError } from "./policy-error.ts";
import {
  isOutside,
  type PolicyCaller,
  type PolicySubject,
  policySubject,
} from "./policy-subject.ts";
import { findDecidingRule, sortRules } from "./rule-order.ts";
import type { SavedApprovals } from "./saved-approvals.ts";
import {
  createShellAnalyzer,
  type ShellAnalyzer,
} from "./shell/shell-analysis.ts";
import { decideCommandLine, type Verdict } from "./shell-decision.ts";

/**
 * The confinement of shell commands: `sandbox` when a sandbox runs each of
 * them, `none` when they can do what the agent's process can.
 */
export type Confinement = "none" | "sandbox";

/** The options of `createPolicyEngine`. */
export interface PolicyOptions {
  /**
   * How far the agent may go without asking; may be a getter, which is read for
   * each decision. Default: `ApprovalMode.DEFAULT`, in which every change asks.
   */
  readonly mode?: ApprovalMode;
  /** The absolute path of the workspace. */
  readonly workspace: string;
  /**
   * For whom the agent works; may be a getter, which is read for each decision.
   *
   * Default: nobody is known. A rule about a principal, a role or an agent then
   * applies if it asks or denies, and not if it allows.
   */
  readonly caller?: PolicyCaller | undefined;
  /**
   * The confinement of shell commands, or a function that determines it when
   * the first command is decided.
   *
   * Without a sandbox no command is allowed unless a rule or an approval names
   * it. `"sandbox"` promises that a command which `READS_ONLY` allows can only
   * read.
   */
  readonly shellConfinement: Confinement | (() => Promise<Confinement>);
  /**
   * The rules of the operator's and the user's files, in any order. Default:
   * none.
   */
  readonly rules?: readonly CompiledRule[];
  /**
   * The approvals that the user gave for good. Default: none, and none can be
   * saved.
   */
  readonly saved?: SavedApprovals | undefined;
  /**
   * Analyzes command lines. Default: a new analyzer; engines that share one
   * load the parsers once.
   */
  readonly analyze?: ShellAnalyzer;
}

/**
 * Creates the policy of a session.
 *
 * Rules of files decide first, an operator's before a user's. Then come the
 * answers that the user gave in this task or for good, then the mode. A call
 * that changes nothing is allowed, and any other call asks unless the mode
 * allows it.
 *
 * ```ts
 * const { rules } = await readRules(undefined, ["/etc/agent/policy.toml"]);
 * const policy = createPolicyEngine({ workspace: "/home/me/project", shellConfinement: "sandbox", rules });
 * const { decision, reason } = await policy.decide(callRequest({ case: "command", command: "make" }), signal);
 * ```
 */
export function createPolicyEngine(options: PolicyOptions): PolicyEngine {
  const {
    workspace,
    shellConfinement,
    saved,
    analyze = createShellAnalyzer(),
  } = options;
  const rules = sortRules(options.rules ?? []);

  async function decide(
    request: PolicyRequest,
    signal: AbortSignal,
  ): Promise<PolicyDecision> {
    const subject = policySubject(request, {
      mode: options.mode ?? ApprovalMode.DEFAULT,
      workspace,
      caller: options.caller,
    });
    const sources = { rules, saved: (await saved?.current()) ?? [] };
    const verdict = await decideByRules(subject, sources, {
      shellConfinement,
      analyze,
    });
    const { decision, rule, reason, answers } = applyGrant(
      verdict,
      subject,
      request.task,
    );
    const maySave =
      saved !== undefined && decision === "ask" && answers === "count";
    const approval = maySave
      ? await approvalRulesFor(request, workspace, analyze)
      : undefined;
    signal.throwIfAborted();
    const saves = approval?.map(describeRule).join(", ");
    return {
      decision,
      rule: withDefinition(rule, subject.facts),
      reason,
      saves,
    };
  }

  if (!saved) return { decide };
  return {
    decide,
    async save(request) {
      const approval = await approvalRulesFor(request, workspace, analyze);
      if (approval) return saved.save(approval);
      throw new PolicyError("approval cannot be saved", "cannot-save", {
        remedy: "approve the call for this session",
      });
    },
  };
}

/** The rules that a call is compared with. */
interface RuleSources {
  /** The rules of files, sorted. */
  readonly rules: readonly CompiledRule[];
  /** The approvals that the user gave for good. */
  readonly saved: readonly CompiledRule[];
}

/**
 * Decides by the rules of files, the approvals for good and the mode, without
 * the answers that the user gave in the task.
 */
async function decideByRules(
  subject: PolicySubject,
  sources: RuleSources,
  {
    shellConfinement,
    analyze,
  }: Required<Pick<PolicyOptions, "shellConfinement" | "analyze">>,
): Promise<Verdict> {
  if (subject.details?.case === "executeDetails") {
    const confinement =
      typeof shellConfinement === "function"
        ? await shellConfinement()
        : shellConfinement;
    const analysis = await analyze(subject.details.value.command);
    return decideCommandLine(subject, analysis, { ...sources, confinement });
  }
  const found = findDecidingRule(sources.rules, subject);
  if (!found) return decideByMode(subject, sources);
  const { decision, compiled } = found;
  const { rule, label, tier } = compiled;
  const mayAnswer = decision === "ask" && tier === "user";
  const approval = mayAnswer
    ? findSavedApproval(subject, sources.saved)
    : undefined;
  return (
    approval ?? {
      decision,
      rule: label,
      reason: decision === "deny" ? rule.denyMessage || `by ${label}` : "",
      answers: mayAnswer ? "count" : "do not count",
    }
  );
}

/**
 * Allows a call that would ask if the user answered for it earlier in its task.
 * No answer counts in plan mode.
 */
function applyGrant(
  verdict: Verdict,
  subject: PolicySubject,
  task: PolicyRequest["task"],
): Verdict {
  const mayCount =
    verdict.decision === "ask" &&
    verdict.answers === "count" &&
    subject.mode !== ApprovalMode.PLAN;
  const grant =
    mayCount && task ? findGrant(task, subject, verdict.rule) : undefined;
  if (grant === undefined) return verdict;
  return { decision: "allow", rule: grant, reason: "", answers: "count" };
}

/**
 * Decides about a call, other than a command, that no rule of a file applies
 * to.
 */
function decideByMode(
  subject: PolicySubject,
  { rules, saved }: RuleSources,
): Verdict {
  const { mode, details, facts, paths, changes } = subject;
  const verdict = (
    decision: PolicyDecision["decision"],
    rule: string,
    reason = "",
  ): Verdict => {
    return { decision, rule, reason, answers: "count" };
  };
  if (!details && facts.mcpServer === undefined) return verdict("allow", "");
  if (mode === ApprovalMode.PLAN) {
    return verdict(
      "deny",
      "builtin:plan",
      "plan mode changes nothing: leave it first",
    );
  }
  const approval = findSavedApproval(subject, saved);
  if (approval) return approval;
  const guarded = changes.find(isGuardedPath);
  if (guarded !== undefined) {
    return verdict(
      "ask",
      "builtin:guarded-path",
      `${JSON.stringify(guarded)} determines what programs or agents do later`,
    );
  }
  const isEdit = details?.case === "fileEditDetails";
  if (isEdit && showsRestrictedFile(rules, subject)) {
    return verdict(
      "ask",
      "builtin:kept-back",
      "the change shows the content of a file that a rule restricts",
    );
  }
  if (mode === ApprovalMode.YOLO) return verdict("allow", "builtin:yolo");
  if (mode === ApprovalMode.AUTO_EDIT && isEdit && !paths.some(isOutside)) {
    return verdict("allow", "builtin:auto-edit");
  }
  return verdict("ask", "");
}

/**
 * Returns the verdict of an approval that the user gave for good. None counts
 * in plan mode.
 */
function findSavedApproval(
  subject: PolicySubject,
  saved: readonly CompiledRule[],
): Verdict | undefined {
  const { mode, facts } = subject;
  if (mode === ApprovalMode.PLAN) return undefined;
  // An approval of an earlier version does not say where its server is, so it
  // could be for another server of that name.
  const bound =
    facts.mcpServer === undefined
      ? saved
      : saved.filter(({ rule }) => rule.mcpServerHash === facts.mcpServerHash);
  const found = findDecidingRule(bound, subject);
  if (found?.decision !== "allow") return undefined;
  return {
    decision: "allow",
    rule: found.compiled.label,
    reason: "",
    answers: "count",
  };
}
