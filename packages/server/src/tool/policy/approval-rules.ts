import { create } from "@bufbuild/protobuf";
import { ApprovalMode, type PolicyRule, PolicyRuleSchema, RuleDecision } from "@devtool/schema";
import type { PolicyRequest } from "../policy-engine.ts";
import { describeRule } from "./describe-rule.ts";
import { commandText, type PolicySubject, policySubject } from "./policy-subject.ts";
import type { SimpleCommand } from "./shell/reading.ts";
import type { ShellAnalysis, ShellAnalyzer } from "./shell/shell-analysis.ts";

/**
 * The rules by which an approval is saved: no wider than what was shown. A shell command as the commands in it, each
 * with all its words or, for programs whose next word says what they do, with those; an edit as its tool and file; any
 * other call as its tool, for an MCP tool in the definition that was shown. Undefined when it cannot be saved: when a
 * command is not fully understood, redirects, or does not start in the workspace itself, or a file is outside of it.
 */
export async function approvalRulesFor(
  request: PolicyRequest,
  { workspace, analyze }: { readonly workspace: string; readonly analyze: ShellAnalyzer },
): Promise<PolicyRule[] | undefined> {
  const subject = policySubject(request, { workspace, mode: ApprovalMode.DEFAULT });
  switch (subject.details?.case) {
    case "executeDetails":
      return commandRules(subject, await analyze(subject.details.value.command));
    case "fileEditDetails":
      return subject.paths.some((path) => path.startsWith("..")) ? undefined : [fileRule(subject)];
    default:
      return [toolRule(subject)];
  }
}

/** Says in a line what an approval by these rules lets run, for the label of the option. */
export function describeRules(rules: readonly PolicyRule[]): string {
  return rules.map(describeRule).join(", ");
}

function commandRules(
  subject: PolicySubject,
  { commands, doubts, redirections }: ShellAnalysis,
): PolicyRule[] | undefined {
  if (doubts.length > 0 || redirections.length > 0 || commands.length === 0) return undefined;
  const inOtherDirectory = subject.paths.some((path) => path !== "");
  return inOtherDirectory ? undefined : commands.map((command) => commandRule(subject, command));
}

function commandRule({ call, workspace }: PolicySubject, { words }: SimpleCommand): PolicyRule {
  const narrow = narrowPrefix(words);
  return create(PolicyRuleSchema, {
    tool: [call.toolName],
    commandPrefix: [commandText(narrow ?? words)],
    exactCommand: narrow === undefined,
    decision: RuleDecision.ALLOW,
    workspace,
  });
}

/** Programs whose first words tell what they do with the workspace; the words after them only tell it to do less or more. */
const NARROW: readonly (readonly string[])[] = [
  ["git", "add"],
  ["git", "commit"],
  ["npm", "test"],
  ["npm", "run", "*"],
  ["pnpm", "test"],
  ["pnpm", "run", "*"],
  ["yarn", "test"],
  ["yarn", "run", "*"],
  ["cargo", "build"],
  ["cargo", "test"],
  ["cargo", "check"],
  ["cargo", "clippy"],
  ["go", "build"],
  ["go", "test"],
  ["go", "vet"],
];

function narrowPrefix(words: readonly string[]): readonly string[] | undefined {
  const found = NARROW.find((prefix) =>
    prefix.every((word, index) => (word === "*" ? /^\w/.test(words[index] ?? "") : word === words[index])),
  );
  return found && words.slice(0, found.length);
}

function fileRule({ call, paths, workspace }: PolicySubject): PolicyRule {
  return create(PolicyRuleSchema, {
    tool: [call.toolName],
    path: paths.map((path) => path.replaceAll(/[\\*?[\]{}()!+@|]/g, "\\$&")),
    decision: RuleDecision.ALLOW,
    workspace,
  });
}

function toolRule({ call, facts, workspace }: PolicySubject): PolicyRule {
  return create(PolicyRuleSchema, {
    tool: [call.toolName],
    mcpServer: facts.mcpServer ?? "",
    definitionHash: facts.definitionHash ?? "",
    decision: RuleDecision.ALLOW,
    workspace,
  });
}
