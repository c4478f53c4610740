import { ApprovalMode } from "@devtool/schema";
import { type CompiledRule, isCommandRule } from "./compiled-rule.ts";
import { withholdingRule } from "./file-rules.ts";
import { type PolicyDecision, READS_ONLY } from "./policy-engine.ts";
import { aboutCommand, isPlainCommand, type PolicySubject } from "./policy-subject.ts";
import { redirectionTarget } from "./redirection-target.ts";
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
  const { redirections } = analysis;
  // A line can open a file and run nothing: `< .env`.
  const commands = analysis.commands.length > 0 || redirections.length === 0 ? analysis.commands : [{ words: [""] }];
  const verdicts = withoutMixedGit(
    commands,
    commands.map((command) => commandVerdict(subject, command, { ...shell, redirections })),
  );
  const ruled =
    verdicts.find(({ decision }) => decision === "deny") ??
    verdicts.find(({ decision, rule }) => decision === "ask" && rule !== "");
  if (ruled) return ruled;
  if (subject.mode === ApprovalMode.YOLO) return yoloVerdict(subject, analysis, shell);
  const unsure = unsureVerdict(subject, analysis, verdicts) ?? verdicts.find(({ decision }) => decision === "ask");
  // What runs only because it reads must not run under a rule that lets its neighbour do more.
  const first = verdicts.find(({ rule }) => rule !== READS_ONLY) ?? verdicts[0] ?? ASK;
  if (subject.mode === ApprovalMode.PLAN && unsure)
    return { ...ASK, decision: "deny", reason: "it is not for plan mode" };
  return unsure ?? first;
}

interface CommandVerdict extends Verdict {
  /** What becomes of redirections beside the command. */
  readonly redirections: "allow" | "ask";
}

const ASK: CommandVerdict = { decision: "ask", rule: "", reason: "", answers: "count", redirections: "ask" };

interface LineRules extends ShellRules {
  /** What the line redirects to or from. */
  readonly redirections: readonly string[];
}

function commandVerdict(subject: PolicySubject, command: SimpleCommand, shell: LineRules): CommandVerdict {
  const about = aboutCommand(subject, command.words, shell.redirections);
  const found = decidingRule(shell.rules, about);
  if (found && (found.decision !== "allow" || isEffective(found.compiled, shell))) {
    const verdict = ruleVerdict(found);
    if (verdict.decision !== "ask" || verdict.answers === "do not count") return verdict;
    return savedVerdict(about, shell) ?? verdict;
  }
  const withheld = withheldVerdict(about, command, shell);
  if (withheld?.answers === "do not count") return withheld;
  return savedVerdict(about, shell) ?? withheld ?? safeVerdict(subject, command, shell) ?? ASK;
}

/** A command asks that may show a file which a rule asks about or denies, although it only reads. */
function withheldVerdict(
  about: PolicySubject,
  command: SimpleCommand,
  { rules }: ShellRules,
): CommandVerdict | undefined {
  const found = withholdingRule(command, about, rules);
  if (!found) return undefined;
  const reason = `the command may show files that ${found.compiled.label} asks about or denies`;
  if (!found.ofCommands) return { ...ASK, reason };
  return { ...ruleVerdict({ compiled: found.compiled, decision: "ask" }), reason };
}

/**
 * Beside a command that may do more, git is not one that only reads: it runs what the repository's configuration names,
 * and would do so with the rights of its neighbour. Unless that is git too: then a rule lets it do just that.
 */
function withoutMixedGit(commands: readonly SimpleCommand[], verdicts: readonly CommandVerdict[]): CommandVerdict[] {
  const isGit = (index: number): boolean => commands[index]?.words[0] === "git";
  const others = verdicts.flatMap(({ rule }, index) => (rule === READS_ONLY ? [] : [index]));
  if (others.length === 0 || others.some(isGit)) return [...verdicts];
  return verdicts.map((verdict, index) => (verdict.rule === READS_ONLY && isGit(index) ? ASK : verdict));
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

/** A saved approval holds for what was shown: without a sandbox only when the command was shown so. */
function savedVerdict(subject: PolicySubject, { saved, confinement }: ShellRules): CommandVerdict | undefined {
  if (subject.mode === ApprovalMode.PLAN || !isPlainCommand(subject)) return undefined;
  const held = confinement === "sandbox" ? saved : saved.filter(({ rule }) => rule.withoutSandbox);
  const found = decidingRule(held, subject);
  return found?.decision === "allow" ? ruleVerdict(found) : undefined;
}

function safeVerdict(subject: PolicySubject, command: SimpleCommand, { confinement }: ShellRules) {
  if (confinement === "none" || subject.mode === ApprovalMode.PLAN || !isSafeCommand(command)) return undefined;
  if (subject.call.inputParameters?.background === true) return undefined;
  // A directory below may be a repository of its own, with a configuration that nobody guards.
  if (command.words[0] === "git" && !startsInRoot(subject)) return undefined;
  return { ...ASK, decision: "allow" as const, rule: READS_ONLY };
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

/** A redirection may stay in the workspace and off the guarded files. */
function leadsAstray(text: string, subject: PolicySubject): boolean {
  return redirectionTarget(text, subject) !== "in the workspace" || !startsInRoot(subject);
}

/** In yolo mode what no rule asks or denies runs; but a rule about commands must have seen them. */
function yoloVerdict(subject: PolicySubject, { doubts, redirections }: ShellAnalysis, { rules }: ShellRules): Verdict {
  const expanded = doubts.find(({ kind }) => kind === "target");
  if (expanded) return { ...ASK, reason: `the command ${expanded.text}` };
  const guarded = redirections.find((text) => redirectionTarget(text, subject) === "guarded");
  if (guarded !== undefined) return { ...ASK, reason: `the command redirects with ${JSON.stringify(guarded)}` };
  const hidden = doubts.find(({ kind }) => HIDING.has(kind));
  const isRuled = rules.some((rule) => rule.decision !== "allow" && isCommandRule(rule));
  if (hidden && isRuled) return { ...ASK, reason: `the command ${hidden.text}: no rule can be held against it` };
  const unnamed = hidden ?? doubts.find(({ kind }) => kind === "expansion");
  const isPathRuled = rules.some(({ rule, decision }) => decision !== "allow" && rule.path.length > 0);
  if (unnamed && isPathRuled) return { ...ASK, reason: `the command ${unnamed.text}: no rule can be held against it` };
  return { ...ASK, decision: "allow", rule: "builtin:yolo" };
}

/** Doubts under which a command may run that was not seen. */
const HIDING: ReadonlySet<DoubtKind> = new Set<DoubtKind>([
  ...(["characters", "limit", "syntax", "disagreement", "dynamic"] as const),
  ...(["assignment", "continuation", "wrapper", "builtin", "definition"] as const),
]);
