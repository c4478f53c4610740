import { posix } from "node:path";
import { ApprovalMode } from "@devtool/schema";
import {
  appliesInMode,
  type CompiledRule,
  isCommandRule,
  isForCaller,
} from "./compiled-rule.ts";
import { findWithholding } from "./file-rules.ts";
import { type PolicyDecision, READS_ONLY } from "./policy-engine.ts";
import {
  aboutCommand,
  isPlainCommand,
  type PolicySubject,
  startsInWorkspace,
} from "./policy-subject.ts";
import { redirectionTarget } from "./redirection-target.ts";
import { findDecidingRule, type RuleVerdict } from "./rule-order.ts";
import type { DoubtKind, SimpleCommand } from "./shell/reading.ts";
import { isSafeCommand } from "./shell/safe-programs.ts";
import type { ShellAnalysis } from "./shell/shell-analysis.ts";
import { findUnseenFile } from "./unseen-file.ts";
import { findUnseenProgram } from "./unseen-program.ts";

/**
 * The rules that shell commands are compared with, and the confinement of the
 * commands.
 */
export interface ShellRules {
  /** The rules of files, sorted. */
  readonly rules: readonly CompiledRule[];
  /** The approvals that the user gave for good. */
  readonly saved: readonly CompiledRule[];
  /**
   * The confinement of the commands. Without a sandbox no command is allowed
   * unless a rule names it.
   */
  readonly confinement: "none" | "sandbox";
}

/**
 * A decision, and whether an answer that the user has given may allow a call
 * that asks.
 */
export interface Verdict extends PolicyDecision {
  readonly answers: "count" | "do not count";
}

/** The verdict about one command of a line. */
interface CommandVerdict extends Verdict {
  /** Whether the command may also redirect to files of the workspace. */
  readonly redirections: "allow" | "ask";
  /** The rule or approval that decided; undefined where none did. */
  readonly compiled: CompiledRule | undefined;
}

const ASK: CommandVerdict = {
  decision: "ask",
  rule: "",
  reason: "",
  answers: "count",
  redirections: "ask",
  compiled: undefined,
};

/**
 * Decides about a command line by the commands in it.
 *
 * The line is denied when one command is. It is allowed when every command is
 * and nothing about the line is in doubt. Otherwise it asks.
 */
export function decideCommandLine(
  subject: PolicySubject,
  analysis: ShellAnalysis,
  shell: ShellRules,
): Verdict {
  const { redirections } = analysis;
  // A line can open a file and run nothing: `< .env`.
  const commands =
    analysis.commands.length > 0 || redirections.length === 0
      ? analysis.commands
      : [{ words: [""] }];
  const verdicts = askBesideOthers(
    commands,
    commands.map((command) =>
      decideCommand(subject, command, redirections, shell),
    ),
  );
  const ruled =
    verdicts.find(({ decision }) => decision === "deny") ??
    verdicts.find(({ decision, rule }) => decision === "ask" && rule !== "");
  if (ruled) return ruled;
  const pairs = commands.flatMap((command, at) => {
    const verdict = verdicts[at];
    return verdict ? [{ command, verdict }] : [];
  });
  const unseen = (): CommandVerdict | undefined =>
    findUnseen(subject, { ...analysis, pairs }, shell.rules);
  if (subject.mode === ApprovalMode.YOLO) {
    const withheld = verdicts.find(
      ({ decision, reason }) => decision === "ask" && reason !== "",
    );
    return (
      decideInYolo(subject, analysis, shell) ??
      withheld ??
      unseen() ?? { ...ASK, decision: "allow", rule: "builtin:yolo" }
    );
  }
  const asking =
    findDoubt(subject, analysis, verdicts) ??
    verdicts.find(({ decision }) => decision === "ask") ??
    unseen();
  if (asking && subject.mode === ApprovalMode.PLAN) {
    return {
      ...ASK,
      decision: "deny",
      reason: "the command is not allowed in plan mode",
    };
  }
  // Under READS_ONLY the whole line is confined to reading, so that rule
  // decides only when it allows every command.
  return (
    asking ??
    verdicts.find(({ rule }) => rule !== READS_ONLY) ??
    verdicts[0] ??
    ASK
  );
}

/**
 * Decides about one command: by a rule, by an approval for good, or because the
 * command only reads.
 */
function decideCommand(
  subject: PolicySubject,
  command: SimpleCommand,
  redirections: readonly string[],
  shell: ShellRules,
): CommandVerdict {
  const { rules, confinement } = shell;
  const about = aboutCommand(subject, command.words, redirections);
  const found = findDecidingRule(rules, about);
  // Without a sandbox a rule allows only the commands that it names.
  if (
    found &&
    (found.decision !== "allow" ||
      confinement === "sandbox" ||
      isCommandRule(found.compiled))
  ) {
    const verdict = ruleVerdict(found);
    if (verdict.decision !== "ask" || verdict.answers === "do not count") {
      return verdict;
    }
    return findSavedCommand(about, shell) ?? verdict;
  }
  // A command that may show a file which a rule restricts asks, even when the
  // command only reads.
  const restriction = findWithholding(command, about, rules);
  const withheld = restriction && {
    ...(restriction.ofCommands
      ? ruleVerdict({ compiled: restriction.compiled, decision: "ask" })
      : ASK),
    reason: `the command may show files that ${restriction.compiled.label} asks about or denies`,
  };
  if (withheld?.answers === "do not count") return withheld;
  const approved = findSavedCommand(about, shell) ?? withheld;
  if (approved) return approved;
  // A command that only reads needs no approval in a sandbox, except in plan
  // mode and in the background.
  if (
    confinement !== "sandbox" ||
    subject.mode === ApprovalMode.PLAN ||
    !isSafeCommand(command)
  ) {
    return ASK;
  }
  if (subject.call.inputParameters?.background === true) return ASK;
  // A directory below can be a repository of its own, whose configuration is
  // not guarded.
  if (command.words[0] === "git" && !startsInWorkspace(subject)) return ASK;
  return { ...ASK, decision: "allow", rule: READS_ONLY };
}

function ruleVerdict({ compiled, decision }: RuleVerdict): CommandVerdict {
  const { rule, label, tier } = compiled;
  return {
    compiled,
    decision,
    rule: label,
    reason: decision === "deny" ? rule.denyMessage || `by ${label}` : "",
    answers:
      decision === "ask" && tier === "operator" ? "do not count" : "count",
    redirections: rule.allowRedirection ? "allow" : "ask",
  };
}

/**
 * Returns the verdict of an approval for good. One that was given with a
 * sandbox does not count without one.
 */
function findSavedCommand(
  about: PolicySubject,
  { saved, confinement }: ShellRules,
): CommandVerdict | undefined {
  if (about.mode === ApprovalMode.PLAN || !isPlainCommand(about)) {
    return undefined;
  }
  const usable =
    confinement === "sandbox"
      ? saved
      : saved.filter(({ rule }) => rule.withoutSandbox);
  const found = findDecidingRule(usable, about);
  return found?.decision === "allow" ? ruleVerdict(found) : undefined;
}

/**
 * Asks about git commands that only read when the line has another command that
 * may do more.
 *
 * Git runs what the repository's configuration names, and the whole line runs
 * with the rights of its most powerful command. When that command is git too, a
 * rule already allows it to do so.
 */
function askBesideOthers(
  commands: readonly SimpleCommand[],
  verdicts: readonly CommandVerdict[],
): CommandVerdict[] {
  const isGit = (index: number): boolean => commands[index]?.words[0] === "git";
  const others = verdicts.flatMap(({ rule }, index) =>
    rule === READS_ONLY ? [] : [index],
  );
  if (others.length === 0 || others.some(isGit)) return [...verdicts];
  return verdicts.map((verdict, index) =>
    verdict.rule === READS_ONLY && isGit(index) ? ASK : verdict,
  );
}

/**
 * Returns why a line asks although every command in it may be allowed;
 * undefined when nothing is in doubt.
 */
function findDoubt(
  subject: PolicySubject,
  { doubts, commands, redirections }: ShellAnalysis,
  verdicts: readonly CommandVerdict[],
): CommandVerdict | undefined {
  const [doubt] = doubts;
  if (doubt) return { ...ASK, reason: `the command ${doubt.text}` };
  if (commands.length === 0) {
    return { ...ASK, reason: "the command runs no program" };
  }
  const mayRedirect =
    startsInWorkspace(subject) &&
    verdicts.every((verdict) => verdict.redirections === "allow");
  const asking = mayRedirect
    ? redirections.find(
        (text) => redirectionTarget(text, subject) !== "in the workspace",
      )
    : redirections[0];
  return asking === undefined ? undefined : redirectionVerdict(asking);
}

/**
 * Asks about a line because of a redirection in it, which is given as its text.
 */
function redirectionVerdict(redirection: string): CommandVerdict {
  return {
    ...ASK,
    reason: `the command redirects with ${JSON.stringify(redirection)}`,
  };
}

/** The doubts because of which a line may run a command that no reader saw. */
const HIDING: ReadonlySet<DoubtKind> = new Set<DoubtKind>([
  "characters",
  "limit",
  "syntax",
  "disagreement",
  "dynamic",
  "assignment",
  "continuation",
  "wrapper",
  "builtin",
  "definition",
]);

/**
 * Decides in yolo mode about a line that no rule denies or asks about, by the
 * line as a whole.
 *
 * It asks if something in it cannot be seen that a rule might deny or ask about:
 * a redirection target, a hidden command where there are rules about commands,
 * or an expanded word where there are rules about paths. Undefined otherwise.
 */
function decideInYolo(
  subject: PolicySubject,
  { doubts, redirections }: ShellAnalysis,
  { rules }: ShellRules,
): CommandVerdict | undefined {
  const expanded = doubts.find(({ kind }) => kind === "target");
  if (expanded) return { ...ASK, reason: `the command ${expanded.text}` };
  const guarded = redirections.find(
    (text) => redirectionTarget(text, subject) === "guarded",
  );
  if (guarded !== undefined) return redirectionVerdict(guarded);
  const restrictions = rules.filter((rule) => restricts(rule, subject));
  const hidden = doubts.find(({ kind }) => HIDING.has(kind));
  const unnamed = hidden ?? doubts.find(({ kind }) => kind === "expansion");
  const unseen =
    (restrictions.some(isCommandRule) && hidden) ||
    (restrictions.some(({ rule }) => rule.path.length > 0) && unnamed);
  return unseen ? unseenVerdict(unseen.text) : undefined;
}

/**
 * Asks about a line that may run a program or open a file which a rule asks
 * about or denies, although the rule cannot be compared with it.
 *
 * A command that a rule allows by its name, or that only reads, is left out.
 * Only the rules count that would decide before the rule that allows it.
 */
function findUnseen(
  subject: PolicySubject,
  {
    pairs,
    doubts,
    redirections,
  }: Pick<ShellAnalysis, "doubts" | "redirections"> & {
    readonly pairs: readonly {
      readonly command: SimpleCommand;
      readonly verdict: CommandVerdict;
    }[];
  },
  rules: readonly CompiledRule[],
): CommandVerdict | undefined {
  const expands = doubts.some(({ kind }) => kind === "expansion")
    ? "some"
    : "none";
  const called = pairs.map(({ command }) =>
    posix.basename(command.words[0] ?? ""),
  );
  for (const { command, verdict } of pairs) {
    const { compiled, rule } = verdict;
    const onlyReads = rule === READS_ONLY && subject.mode !== ApprovalMode.YOLO;
    if (onlyReads || (compiled && isCommandRule(compiled))) continue;
    const above = rules
      .slice(0, compiled ? rules.indexOf(compiled) : rules.length)
      .filter((one) => restricts(one, subject));
    const about = aboutCommand(subject, command.words, redirections);
    const [program = "", ...args] = command.words;
    const unseen =
      [program, ...about.linked.program]
        .map((name) => ({ ...command, words: [name, ...args] }))
        .map((one) =>
          findUnseenProgram(one, above.filter(isCommandRule), {
            expands,
            linked: about.linked.words,
            called,
          }),
        )
        .find((reason) => reason !== undefined) ??
      findUnseenFile(
        command,
        about,
        above.filter((one) => one.rule.path.length > 0),
        pairs.length - 1,
      );
    if (unseen !== undefined) return unseenVerdict(unseen);
  }
  return undefined;
}

function restricts(compiled: CompiledRule, subject: PolicySubject): boolean {
  return (
    compiled.decision !== "allow" &&
    appliesInMode(compiled, subject.mode) &&
    isForCaller(compiled, subject)
  );
}

/** Asks because of something about a command, in words that follow it. */
function unseenVerdict(text: string): CommandVerdict {
  return {
    ...ASK,
    reason: `the command ${text}: rules cannot be checked against it`,
  };
}
