import { ApprovalMode } from "@devtool/schema";
import type { PolicyDecision } from "../policy-engine.ts";
import { type CompiledRule, isCommandRule } from "./compiled-rule.ts";
import { isGuardedPath } from "./guarded-paths.ts";
import { aboutCommand, type PolicySubject, pathInWorkspace } from "./policy-subject.ts";
import { decidingRule, type RuleVerdict } from "./rule-order.ts";
import type { DoubtKind, SimpleCommand } from "./shell/reading.ts";
import { isSafeCommand } from "./shell/safe-programs.ts";
import type { ShellAnalysis } from "./shell/shell-analysis.ts";

/** What shell commands are decided by. */
export interface ShellRules {
  /** The rules of files, in the order in which they decide. */
  readonly rules: readonly CompiledRule[];
  /** What the user approved for good. */
  readonly saved: readonly CompiledRule[];
  /** What confines the commands that run: without a sandbox nothing is allowed that no rule names. */
  readonly confinement: "none" | "sandbox";
}

/** A decision, and whether an earlier answer of the user may turn its question into a yes. */
export interface Verdict extends PolicyDecision {
  readonly answers: "count" | "do not count";
}

/**
 * Decides about a command line by the commands in it: it is denied when one of them is, it runs when all of them may
 * and nothing about it is in doubt, and asks otherwise.
 */
export function decideCommandLine(subject: PolicySubject, analysis: ShellAnalysis, shell: ShellRules): Verdict {
  const verdicts = analysis.commands.map((command) => commandVerdict(subject, command, shell));
  const ruled =
    verdicts.find(({ decision }) => decision === "deny") ??
    verdicts.find(({ decision, rule }) => decision === "ask" && rule !== "");
  if (ruled) return ruled;
  if (subject.mode === ApprovalMode.YOLO) return yoloVerdict(analysis, shell);
  const unsure = unsureVerdict(subject, analysis, verdicts) ?? verdicts.find(({ decision }) => decision === "ask");
  const [first = ASK] = verdicts;
  if (subject.mode === ApprovalMode.PLAN && unsure)
    return { ...ASK, decision: "deny", reason: "it is not for plan mode" };
  return unsure ?? first;
}

interface CommandVerdict extends Verdict {
  /** What becomes of redirections beside the command. */
  readonly redirections: "allow" | "ask";
}

const ASK: CommandVerdict = { decision: "ask", rule: "", reason: "", answers: "count", redirections: "ask" };

function commandVerdict(subject: PolicySubject, command: SimpleCommand, shell: ShellRules): CommandVerdict {
  const about = aboutCommand(subject, command.words);
  const found = decidingRule(shell.rules, about);
  if (found && (found.decision !== "allow" || isEffective(found.compiled, shell))) {
    const verdict = ruleVerdict(found);
    if (verdict.decision !== "ask" || verdict.answers === "do not count") return verdict;
    return savedVerdict(about, shell) ?? verdict;
  }
  return savedVerdict(about, shell) ?? safeVerdict(subject, command, shell) ?? ASK;
}

/** Without a sandbox a rule has to name the commands that it allows. */
function isEffective(compiled: CompiledRule, { confinement }: ShellRules): boolean {
  return confinement === "sandbox" || isCommandRule(compiled);
}

function ruleVerdict({ compiled: { rule, label, tier }, decision }: RuleVerdict): CommandVerdict {
  return {
    decision,
    rule: label,
    reason: decision === "deny" ? rule.denyMessage : "",
    answers: decision === "ask" && tier === "operator" ? "do not count" : "count",
    redirections: rule.allowRedirection ? "allow" : "ask",
  };
}

/** Saved approvals are for commands that start in the workspace itself: elsewhere the same words do other things. */
function savedVerdict(subject: PolicySubject, { saved }: ShellRules): CommandVerdict | undefined {
  if (subject.mode === ApprovalMode.PLAN || !startsInRoot(subject)) return undefined;
  const found = decidingRule(saved, subject);
  return found?.decision === "allow" ? ruleVerdict(found) : undefined;
}

function safeVerdict(subject: PolicySubject, command: SimpleCommand, { confinement }: ShellRules) {
  if (confinement === "none" || subject.mode === ApprovalMode.PLAN || !isSafeCommand(command)) return undefined;
  // A directory below may be a repository of its own, with a configuration that nobody guards.
  if (command.words[0] === "git" && !startsInRoot(subject)) return undefined;
  return { ...ASK, decision: "allow" as const, rule: "builtin:reads-only" };
}

function startsInRoot({ paths }: PolicySubject): boolean {
  return paths.every((path) => path === "");
}

function unsureVerdict(
  subject: PolicySubject,
  { doubts, commands, redirections }: ShellAnalysis,
  verdicts: readonly CommandVerdict[],
): CommandVerdict | undefined {
  const [doubt] = doubts;
  if (doubt) return { ...ASK, reason: `the command ${doubt.text}` };
  if (commands.length === 0) return { ...ASK, reason: "the command runs no program" };
  const [redirection] = redirections;
  if (redirection === undefined) return undefined;
  const isAllowed = verdicts.every((verdict) => verdict.redirections === "allow");
  const bad = isAllowed ? redirections.find((text) => leadsAstray(text, subject)) : redirection;
  return bad === undefined ? undefined : { ...ASK, reason: `the command redirects with ${JSON.stringify(bad)}` };
}

/** A redirection may stay in the workspace and off the guarded files; it is relative to where the command starts. */
function leadsAstray(text: string, subject: PolicySubject): boolean {
  const path = pathInWorkspace(text.slice(text.indexOf(" ") + 1), subject.workspace);
  return path.startsWith("..") || isGuardedPath(path) || !startsInRoot(subject);
}

/** In yolo mode what no rule asks or denies runs; but a rule about commands must have seen them. */
function yoloVerdict({ doubts, redirections }: ShellAnalysis, { rules }: ShellRules): Verdict {
  const guarded = redirections.find((text) => isGuardedPath(text.slice(text.indexOf(" ") + 1)));
  if (guarded !== undefined) return { ...ASK, reason: `the command redirects with ${JSON.stringify(guarded)}` };
  const hidden = doubts.find(({ kind }) => HIDING.has(kind));
  const isRuled = rules.some((rule) => rule.decision !== "allow" && isCommandRule(rule));
  if (hidden && isRuled) return { ...ASK, reason: `the command ${hidden.text}: no rule can be held against it` };
  return { ...ASK, decision: "allow", rule: "builtin:yolo" };
}

/** Doubts under which a command may run that was not seen. */
const HIDING: ReadonlySet<DoubtKind> = new Set<DoubtKind>([
  ...(["characters", "limit", "syntax", "disagreement", "dynamic"] as const),
  ...(["assignment", "wrapper", "builtin", "definition"] as const),
]);
