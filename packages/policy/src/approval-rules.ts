import { create } from "@bufbuild/protobuf";
import { ApprovalMode, type PolicyRule, PolicyRuleSchema, RuleDecision } from "@devtool/schema";
import { describeRule } from "./describe-rule.ts";
import type { PolicyRequest } from "./policy-engine.ts";
import { commandText, isPlainCommand, type PolicySubject, policySubject } from "./policy-subject.ts";
import type { SimpleCommand } from "./shell/reading.ts";
import type { ShellAnalysis, ShellAnalyzer } from "./shell/shell-analysis.ts";

/**
 * The rules by which an approval is saved: no wider than what was shown. A shell command as the commands in it, each
 * with all its words, and for a sandbox alone when it was shown with one; an edit as its tool and file; any other call as its tool, for an MCP tool in the definition that
 * was shown. Undefined when it cannot be saved: when a command is not fully understood, redirects, runs in the background or
 * does not start in the workspace itself, or a file is outside of it.
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
  return isPlainCommand(subject) ? commands.map((command) => commandRule(subject, command)) : undefined;
}

/** Never fewer words: for most programs there are flags that run any other one (`go test -exec`, `npm test --prefix`). */
function commandRule({ call, confinement, workspace }: PolicySubject, { words }: SimpleCommand): PolicyRule {
  return create(PolicyRuleSchema, {
    tool: [call.toolName],
    commandPrefix: [commandText(words)],
    exactCommand: true,
    withoutSandbox: confinement === "none",
    decision: RuleDecision.ALLOW,
    workspace,
  });
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
    mcpServerHash: facts.mcpServerHash ?? "",
    definitionHash: facts.definitionHash ?? "",
    decision: RuleDecision.ALLOW,
    workspace,
  });
}
