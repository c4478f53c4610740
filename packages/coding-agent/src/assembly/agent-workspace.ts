import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { describeRule } from "@devtool/policy";
import { RuleDecision } from "@devtool/schema";
import type { AgentWorkspace } from "@devtool/server/agent";
import { trustProblem } from "../trust/trust.ts";
import type { AgentHost } from "./host.ts";
import { approvalModeOf } from "./task-agent.ts";
import { mcpSessionOf } from "./toolbox.ts";

const DECISIONS = { allow: RuleDecision.ALLOW, ask: RuleDecision.ASK, deny: RuleDecision.DENY } as const;

/** Describes the workspaces of tasks. Of an MCP server, it says only what no secret can be in. */
export function agentWorkspace(host: AgentHost): AgentWorkspace {
  return {
    async checkpoints({ principal, settings }, signal) {
      const workspacePath = settings?.workspacePath ?? "";
      if (workspacePath === "" || !host.checkpoints) return [];
      const found = await host.checkpoints.list({ workspacePath, principal }, signal);
      return found.map(({ id, label, time }) => ({ id, label, workspacePath, createTime: timestampFromDate(time) }));
    },
    async settings(task, signal) {
      const { principal, settings } = task;
      const workspacePath = settings?.workspacePath ?? "";
      const saved = (await host.savedApprovalsOf(principal)?.current()) ?? [];
      const servers = (await host.mcp?.status(mcpSessionOf(task), signal)) ?? [];
      return {
        approvalMode: approvalModeOf(host, task),
        rules: [...saved, ...host.rulesFor(principal)].map(({ rule, label, decision }) => {
          return { name: label, decision: DECISIONS[decision], description: describeRule(rule) };
        }),
        mcpServers: servers.map(({ name, state, toolCount }) => ({ name, state, toolCount })),
        ...(workspacePath !== "" && { trust: await describeTrust(host, workspacePath) }),
      };
    },
  };
}

async function describeTrust({ trust }: AgentHost, workspacePath: string) {
  const found = await trust.trustOf(workspacePath);
  const files = found.case === "trusted" ? [...found.files.keys()].sort() : [];
  return { workspacePath, isTrusted: found.case === "trusted", files, problem: trustProblem(workspacePath, found) };
}
