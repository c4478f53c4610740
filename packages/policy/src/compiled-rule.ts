import { ApprovalMode, type PolicyRule, RuleDecision } from "@devtool/schema";
import picomatch from "picomatch";
import { isGuardedPath } from "./guarded-paths.ts";
import { compilePattern, type Pattern } from "./pattern.ts";
import { PolicyError } from "./policy-error.ts";
import type { PolicySubject } from "./policy-subject.ts";

/** Who wrote a rule; an operator's decides before a user's. */
export type PolicyTier = "user" | "operator";

/** A rule that is ready to be held against calls. */
export interface CompiledRule {
  readonly rule: PolicyRule;
  readonly tier: PolicyTier;
  /** Where it stands, for instance `policy.toml:3`. The path of an operator's file is in it. */
  readonly label: string;
  readonly decision: "allow" | "ask" | "deny";
  readonly args: Pattern | undefined;
  readonly command: Pattern | undefined;
  readonly isPath: (path: string) => boolean;
}

/** Where a rule stands. */
export interface RuleOrigin {
  readonly tier: PolicyTier;
  /** The file's name, as shown. */
  readonly file: string;
  /** 1 for the first rule of the file. */
  readonly number: number;
}

/** Checks a rule and makes it ready. Throws a `PolicyError` that names the field and what it may be. */
export function compileRule(rule: PolicyRule, { tier, file, number }: RuleOrigin): CompiledRule {
  for (const tool of rule.tool) checkTool(tool);
  for (const prefix of rule.commandPrefix) checkPrefix(prefix);
  if (rule.priority < 0 || rule.priority > 999) throw wrong("priority", `${rule.priority}`, "choose 0 to 999");
  return {
    rule,
    tier,
    label: `${file}:${rule.name === "" ? number : rule.name}`,
    decision: decisionOf(rule.decision),
    args: rule.argsPattern === "" ? undefined : compilePattern(rule.argsPattern),
    command: rule.commandRegex === "" ? undefined : compilePattern(rule.commandRegex, "whole"),
    isPath: rule.path.length === 0 ? () => true : picomatch([...rule.path], { dot: true, nocase: false }),
  };
}

/**
 * What a rule says of a call; undefined when the call does not meet its conditions. When a condition cannot be checked
 * because a text is too long, a rule that asks or denies asks, and one that allows does not hold.
 */
export function verdictOf(compiled: CompiledRule, subject: PolicySubject): CompiledRule["decision"] | undefined {
  if (!meetsTool(compiled.rule, subject) || !meetsPlace(compiled.rule, subject)) return undefined;
  if (!meetsPath(compiled, subject)) return undefined;
  const fits = [fitOf(compiled.args, subject.argsText), commandFit(compiled, subject)];
  if (fits.includes("no")) return undefined;
  if (!fits.includes("unknown")) return compiled.decision;
  return compiled.decision === "allow" ? undefined : "ask";
}

/** Whether a rule would say something of a call if it named the right file. */
export function isAbout(compiled: CompiledRule, subject: PolicySubject): boolean {
  const anywhere = { ...compiled, args: undefined, rule: { ...compiled.rule, path: [] } };
  return verdictOf(anywhere, subject) !== undefined;
}

/** Whether a rule speaks of commands rather than of the tool that runs them. */
export function isCommandRule({ rule }: CompiledRule): boolean {
  return rule.commandPrefix.length > 0 || rule.commandRegex !== "";
}

type Fit = "yes" | "no" | "unknown";

function meetsTool(
  { tool, mcpServer, mcpServerHash, annotations, definitionHash }: PolicyRule,
  { call, facts }: PolicySubject,
): boolean {
  if (tool.length > 0 && !tool.some((name) => namesTool(name, call.toolName, facts.mcpServer))) return false;
  if (mcpServer !== "" && (facts.mcpServer === undefined || !["*", facts.mcpServer].includes(mcpServer))) return false;
  if (mcpServerHash !== "" && mcpServerHash !== facts.mcpServerHash) return false;
  if (definitionHash !== "" && definitionHash !== facts.definitionHash) return false;
  return Object.entries(annotations).every(([name, value]) => facts.annotations?.[name] === value);
}

/** The server of `mcp__<server>__*` is compared as a whole with the one the tool was registered for: names are not split. */
function namesTool(name: string, toolName: string, mcpServer: string | undefined): boolean {
  if (name === "*" || name === toolName) return true;
  return mcpServer !== undefined && name === `mcp__${mcpServer}__*`;
}

function meetsPlace({ modes, workspace }: PolicyRule, subject: PolicySubject): boolean {
  if (workspace !== "" && workspace !== subject.workspace) return false;
  return modes.length === 0 ? subject.mode !== ApprovalMode.PLAN : modes.includes(subject.mode);
}

/**
 * An allowing rule must fit every file, any other one of them, also one that a command only mentions. A guarded file is
 * allowed by rules that name files only.
 */
function meetsPath({ rule, decision, isPath }: CompiledRule, subject: PolicySubject): boolean {
  const { paths, mentioned, changes } = subject;
  if (rule.path.length === 0) return decision !== "allow" || !changes.some(isGuardedPath);
  if (decision !== "allow")
    return [...paths, ...mentioned].some(isPath) || mentioned.some((path) => mayExpandTo(path, rule.path));
  return paths.length > 0 && paths.every(isPath);
}

/** Whether a word that a shell would expand (`.en?`) may become a file that a rule names. */
function mayExpandTo(word: string, patterns: readonly string[]): boolean {
  if (!/[*?[{]/.test(word)) return false;
  const names = patterns.map((pattern) => pattern.replace(/^(\*\*\/)+/, "")).filter((name) => !/[*?[{!]/.test(name));
  const last = word.slice(word.lastIndexOf("/") + 1);
  return names.some((name) => picomatch.isMatch(name, word) || picomatch.isMatch(name, last));
}

function commandFit(compiled: CompiledRule, { command, bareCommands }: PolicySubject): Fit {
  if (!isCommandRule(compiled)) return "yes";
  if (command === undefined) return "no";
  if (compiled.decision === "allow") return textFit(compiled, command);
  const fits = [command, ...bareCommands].map((text) => textFit(compiled, text));
  return fits.find((fit) => fit !== "no") ?? "no";
}

function textFit({ rule, command: pattern }: CompiledRule, text: string): Fit {
  const hasPrefix = rule.commandPrefix.some(
    (prefix) => text === prefix || (!rule.exactCommand && text.startsWith(`${prefix} `)),
  );
  if (rule.commandPrefix.length > 0 && !hasPrefix) return "no";
  return fitOf(pattern, text);
}

function fitOf(pattern: Pattern | undefined, text: string): Fit {
  if (!pattern) return "yes";
  const occurs = pattern.occursIn(text);
  return occurs === undefined ? "unknown" : occurs ? "yes" : "no";
}

function decisionOf(decision: RuleDecision): CompiledRule["decision"] {
  switch (decision) {
    case RuleDecision.ALLOW:
      return "allow";
    case RuleDecision.ASK:
      return "ask";
    case RuleDecision.DENY:
      return "deny";
    case RuleDecision.UNSPECIFIED:
      throw new PolicyError("decision is missing", "invalid", { remedy: "choose allow, ask or deny" });
    default:
      return decision satisfies never;
  }
}

function checkTool(tool: string): void {
  if (/^(\*|[\w.-]+|mcp__.+__\*)$/.test(tool)) return;
  throw wrong("tool", tool, "choose a name, * or mcp__<server>__*");
}

/** A prefix must be written as commands are, or it would never be met. */
function checkPrefix(prefix: string): void {
  if (/^([\w@%+=:,./^~-]|'[^']*'|\\')+( ([\w@%+=:,./^~-]|'[^']*'|\\')+)*$/.test(prefix)) return;
  throw wrong("command_prefix", prefix, "separate words by single spaces and put others in single quotes");
}

function wrong(field: string, value: string, remedy: string): PolicyError {
  return new PolicyError(`${field} ${JSON.stringify(value)} cannot be used`, "invalid", { remedy });
}
