import { ApprovalMode, type PolicyRule } from "@devtool/schema";
import picomatch from "picomatch";
import { isGuardedPath } from "./guarded-paths.ts";
import type { Pattern } from "./pattern.ts";
import type { PolicySubject } from "./policy-subject.ts";

/** Who wrote a rule. An operator's rule decides before a user's. */
export type PolicyTier = "user" | "operator";

/** Where a rule was read. */
export interface RuleOrigin {
  readonly tier: PolicyTier;
  /** The name of the file, as it is shown in decisions. */
  readonly file: string;
  /** The position of the rule in the file, from 1. */
  readonly number: number;
  /** The line in which the rule begins, from 1. Default: it is not known. */
  readonly line?: number | undefined;
}

/** A rule that was checked and is ready to be compared with calls. */
export interface CompiledRule {
  readonly rule: PolicyRule;
  readonly tier: PolicyTier;
  /**
   * The file and the name or number of the rule, for instance `policy.toml:3`.
   * It contains the path of an operator's file.
   */
  readonly label: string;
  /** Where the rule was read. */
  readonly origin: RuleOrigin;
  readonly decision: "allow" | "ask" | "deny";
  /**
   * The pattern that must occur in the arguments, which are compared as JSON
   * with sorted keys and no spaces; undefined when the rule has none.
   */
  readonly args: Pattern | undefined;
  /** The pattern for a whole command; undefined when the rule has none. */
  readonly command: Pattern | undefined;
  /**
   * Returns whether a path, relative to the workspace, is one that the rule
   * names; always true for a rule without `path`.
   *
   * Letter case counts, and `*` also matches names that begin with a dot.
   */
  readonly isPath: (path: string) => boolean;
}

/**
 * Returns what a rule decides about a call; undefined when the call does not
 * meet all its conditions.
 *
 * When a condition cannot be checked because a text is too long, a rule that
 * asks or denies asks, and one that allows does not apply.
 */
export function evaluateRule(
  compiled: CompiledRule,
  subject: PolicySubject,
): CompiledRule["decision"] | undefined {
  const { rule, decision } = compiled;
  const { call, facts } = subject;
  if (!isForCaller(compiled, subject)) return undefined;
  // A saved approval says which one it means.
  const boundTo =
    facts.mcpServer === undefined ? rule.definitionHash : rule.mcpServerHash;
  const isMeant =
    facts.isNamesake !== true || decision !== "allow" || boundTo !== "";
  // The server in `mcp__<server>__*` is compared as a whole with the server
  // that offers the tool: names are never split.
  const allOfServer =
    facts.mcpServer === undefined ? undefined : `mcp__${facts.mcpServer}__*`;
  const isNamed = rule.tool.some(
    (name) =>
      name === "*" ||
      ((isMeant || !/^(mcp__|agent_)/.test(name)) &&
        (name === call.toolName || name === allOfServer)),
  );
  if (rule.tool.length > 0 && !isNamed) return undefined;
  const isOfServer =
    facts.mcpServer !== undefined &&
    (rule.mcpServer === "*" || (isMeant && rule.mcpServer === facts.mcpServer));
  if (rule.mcpServer !== "" && !isOfServer) return undefined;
  if (rule.mcpServerHash !== "" && rule.mcpServerHash !== facts.mcpServerHash) {
    return undefined;
  }
  if (
    rule.definitionHash !== "" &&
    rule.definitionHash !== facts.definitionHash
  ) {
    return undefined;
  }
  const annotations = Object.entries(rule.annotations);
  if (
    !annotations.every(([name, value]) => facts.annotations?.[name] === value)
  ) {
    return undefined;
  }
  if (rule.workspace !== "" && rule.workspace !== subject.workspace) {
    return undefined;
  }
  const isInMode = appliesInMode(compiled, subject.mode);
  if (!isInMode || !matchesPath(compiled, subject)) return undefined;
  const matches = [
    matchPattern(compiled.args, subject.argsText),
    matchCommand(compiled, subject),
  ];
  if (matches.includes("no")) return undefined;
  if (!matches.includes("unknown")) return decision;
  return decision === "allow" ? undefined : "ask";
}

/**
 * Returns whether a rule would decide about a call if the call named the right
 * file and had the right arguments.
 */
export function isAbout(
  compiled: CompiledRule,
  subject: PolicySubject,
): boolean {
  const anywhere = {
    ...compiled,
    args: undefined,
    rule: { ...compiled.rule, path: [] },
  };
  return evaluateRule(anywhere, subject) !== undefined;
}

/**
 * Returns whether a rule is about the principal, a role and the agent for which
 * a call is made.
 *
 * Where one of them is not known, a rule that asks or denies is, and one that
 * allows is not.
 */
export function isForCaller(
  { rule, decision }: CompiledRule,
  { caller }: Pick<PolicySubject, "caller">,
): boolean {
  const { principal, role, agent } = rule;
  const names = (wanted: readonly string[], known?: readonly string[]) =>
    wanted.length === 0 ||
    (known?.some((name) => wanted.includes(name)) ?? decision !== "allow");
  return (
    names(principal, caller && [caller.principal]) &&
    names(role, caller?.roles) &&
    names(agent, caller?.agent ? [caller.agent] : undefined)
  );
}

/** Returns whether a rule applies in a mode: by default in all but plan mode. */
export function appliesInMode(
  { rule }: CompiledRule,
  mode: ApprovalMode,
): boolean {
  return rule.modes.length === 0
    ? mode !== ApprovalMode.PLAN
    : rule.modes.includes(mode);
}

/**
 * Returns whether a rule names commands, rather than only the tool that runs
 * them.
 */
export function isCommandRule({ rule }: CompiledRule): boolean {
  return rule.commandPrefix.length > 0 || rule.commandRegex !== "";
}

/**
 * Returns whether a call meets the `path` of a rule.
 *
 * A rule that allows must name every file of the call; any other rule applies
 * when it names one of them, or one that a command only mentions. Without
 * `path`, a rule never allows a change of a guarded file.
 */
function matchesPath(compiled: CompiledRule, subject: PolicySubject): boolean {
  const { rule, decision, isPath } = compiled;
  const { paths, mentioned, changes } = subject;
  if (rule.path.length === 0) {
    return decision !== "allow" || !changes.some(isGuardedPath);
  }
  if (decision === "allow") return paths.length > 0 && paths.every(isPath);
  return paths.some(isPath) || namesPath(compiled, mentioned);
}

/**
 * Returns whether words of a command name a file that is in the `path` of a
 * rule.
 */
export function namesPath(
  { rule, isPath }: CompiledRule,
  mentioned: readonly string[],
): boolean {
  if (mentioned.some(isPath)) return true;
  // A word that a shell would expand (`.en?`) can become one of the files that
  // the rule names literally.
  const names = rule.path
    .map((pattern) => pattern.replace(/^(\*\*\/)+/, ""))
    .filter((name) => !/[*?[{!]/.test(name));
  const expanded = mentioned.filter((word) => /[*?[{]/.test(word));
  const globs = expanded.flatMap((word) => [
    word,
    word.slice(word.lastIndexOf("/") + 1),
  ]);
  return globs.some((glob) =>
    names.some((name) => picomatch.isMatch(name, glob, { nocase: true })),
  );
}

/** Whether a text meets a condition; `unknown` when it is too long to check. */
type Match = "yes" | "no" | "unknown";

function matchCommand(
  { rule, decision, command: pattern }: CompiledRule,
  subject: PolicySubject,
): Match {
  const { commandPrefix, commandRegex, exactCommand } = rule;
  if (commandPrefix.length === 0 && commandRegex === "") return "yes";
  const { command, bareCommands } = subject;
  if (command === undefined) return "no";
  const spellings =
    decision === "allow" ? [command] : [command, ...bareCommands];
  const matches = spellings.map((text): Match => {
    const hasPrefix = commandPrefix.some(
      (prefix) =>
        text === prefix || (!exactCommand && text.startsWith(`${prefix} `)),
    );
    return commandPrefix.length > 0 && !hasPrefix
      ? "no"
      : matchPattern(pattern, text);
  });
  return matches.find((match) => match !== "no") ?? "no";
}

function matchPattern(pattern: Pattern | undefined, text: string): Match {
  if (!pattern) return "yes";
  const occurs = pattern.occursIn(text);
  if (occurs === undefined) return "unknown";
  return occurs ? "yes" : "no";
}
