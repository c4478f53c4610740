import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  ApprovalMode,
  type PolicyRule,
  PolicyRuleSchema,
  RuleDecision,
} from "@devtool/schema";
import type { PolicyRequest } from "./policy-engine.ts";
import {
  commandText,
  isPlainCommand,
  type PolicySubject,
  policySubject,
} from "./policy-subject.ts";
import type { ShellAnalyzer } from "./shell/shell-analysis.ts";

/**
 * Returns the rules by which an approval is saved. They cover exactly what was
 * shown.
 *
 * - A shell command becomes a rule for each command in it, with all its words.
 *   The rule holds without a sandbox only if the command was shown without one.
 * - An edit becomes a rule for its tool and file.
 * - Any other call becomes a rule for its tool; for a tool of an MCP server, in
 *   the definition that was shown.
 *
 * Undefined when the approval cannot be saved: for an edit outside of the
 * workspace, and for a command line that is not fully understood, redirects,
 * runs in the background or starts in another directory.
 */
export async function approvalRulesFor(
  request: PolicyRequest,
  workspace: string,
  analyze: ShellAnalyzer,
): Promise<PolicyRule[] | undefined> {
  const subject = policySubject(request, {
    workspace,
    mode: ApprovalMode.DEFAULT,
  });
  const { details, facts, paths } = subject;
  switch (details?.case) {
    case "executeDetails": {
      const { commands, doubts, redirections } = await analyze(
        details.value.command,
      );
      if (
        doubts.length > 0 ||
        redirections.length > 0 ||
        commands.length === 0
      ) {
        return undefined;
      }
      if (!isPlainCommand(subject)) return undefined;
      return commands.map(({ words }) =>
        allowingRule(subject, {
          // Never a prefix of the words: most programs have flags that run any
          // other program (`go test -exec`, `npm test --prefix`).
          commandPrefix: [commandText(words)],
          exactCommand: true,
          withoutSandbox: subject.confinement === "none",
        }),
      );
    }
    case "fileEditDetails":
      // Stricter than `isOutside`: a name such as `..x` is not saved either.
      if (paths.some((path) => path.startsWith(".."))) return undefined;
      return [
        allowingRule(subject, {
          path: paths.map((path) =>
            path.replaceAll(/[\\*?[\]{}()!+@|]/g, "\\$&"),
          ),
        }),
      ];
    default: {
      const { mcpServer = "", mcpServerHash = "", definitionHash = "" } = facts;
      return [
        allowingRule(subject, { mcpServer, mcpServerHash, definitionHash }),
      ];
    }
  }
}

function allowingRule(
  { call, workspace }: PolicySubject,
  conditions: MessageInitShape<typeof PolicyRuleSchema>,
): PolicyRule {
  return create(PolicyRuleSchema, {
    ...conditions,
    tool: [call.toolName],
    decision: RuleDecision.ALLOW,
    workspace,
  });
}
