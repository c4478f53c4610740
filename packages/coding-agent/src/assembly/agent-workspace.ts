import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { RuleDecision } from "@devtool/schema";
import type { AgentWorkspace } from "@devtool/server/agent";
import { trustProblem } from "../trust/trust.ts";
import type { AgentHost } from "./host.ts";
import { mcpSessionOf } from "./toolbox.ts";

const DECISIONS = {
  allow: RuleDecision.ALLOW,
  ask: RuleDecision.ASK,
  deny: RuleDecision.DENY,
} as const;

/**
 * Describes the workspaces of tasks. Of an MCP server, it says only what no
 * secret can be in.
 */
export function agentWorkspace(host: AgentHost): AgentWorkspace {
  return {
    async checkpoints({ principal, settings }, signal) {
      const workspacePath = settings?.workspacePath ?? "";
      if (workspacePath === "" || !host.checkpoints) return [];
      const found = await host.checkpoints.list(
        { workspacePath, principal },
        signal,
      );
      return found.map(({ id, label, time }) => ({
        id,
        label,
        workspacePath,
        createTime: timestampFromDate(time),
      }));
    },
    async settings(task, signal) {
      const { principal, sender, settings } = task;
      const workspacePath = settings?.workspacePath ?? "";
      const roles = sender?.roles;
      const rules = await host.listRules({ principal, roles });
      const servers =
        (await host.mcp?.status(mcpSessionOf(task), signal)) ?? [];
      const trust =
        workspacePath === ""
          ? undefined
          : await host.trust.trustOf(workspacePath);
      const files =
        trust?.case === "trusted" ? [...trust.files.keys()].sort() : [];
      return {
        approvalMode: host.approvalModeOf(task),
        rules: rules.map((rule) => {
          return { ...rule, decision: DECISIONS[rule.decision] };
        }),
        mcpServers: servers.map(({ name, state, toolCount }) => ({
          name,
          state,
          toolCount,
        })),
        ...(trust && {
          trust: {
            workspacePath,
            isTrusted: trust.case === "trusted",
            files,
            problem: trustProblem(workspacePath, trust),
          },
        }),
      };
    },
  };
}
