import { quoted } from "@devtool/server/agent";
import type { CallingTask } from "../delegate/agent-tool.ts";
import type { CalledAgent } from "../delegate/called-agent.ts";
import type { Tool } from "../tool/tool.ts";
import type { AgentHost } from "./host.ts";

/** The default limits of calls of other agents. */
export const DEFAULT_CALL_LIMITS = { maxDepth: 3, maxCalls: 16 } as const;

/**
 * Returns the tools that give work to other agents: those of the server, and
 * those elsewhere that the operator named, for the operator's own tasks. None
 * for an agent that is as deep in a chain of calls as the limit allows.
 *
 * Throws `Code.FailedPrecondition` for a task that its own agent has caused,
 * over others.
 */
export async function agentTools(
  host: AgentHost,
  current: CallingTask["current"],
): Promise<readonly Tool[]> {
  const { options, services, limits } = host.dependencies;
  const { agents: directory, operator } = services;
  const { maxDepth, maxCalls } = {
    ...DEFAULT_CALL_LIMITS,
    ...options.agentCalls,
  };
  const { task } = current();
  const remote =
    task.principal === operator ? (options.remoteAgents ?? []) : [];
  // What nobody can call needs none of the code for it.
  if (directory.listed.length < 2 && remote.length === 0) return [];
  const { createAgentTool, agentToolName } = await import(
    "../delegate/agent-tool.ts"
  );
  const { agentsAbove } = await import("../delegate/call-chain.ts");
  const { servedAgents, servedChainId } = await import(
    "../delegate/served-agents.ts"
  );
  const { remoteAgents } = await import("../delegate/remote-agents.ts");
  const own = task.sessionSettings?.agent ?? "";
  const caller = servedChainId(directory, own);
  const above = agentsAbove(task, caller);
  if (above.length >= maxDepth) return [];
  const all = [
    ...servedAgents(directory, own, (asked) => ({
      mode: host.approvalModeOf(asked),
      operatorMode: host.approvals.approvalMode,
    })),
    ...remoteAgents(remote),
  ];
  const calling = {
    chain: [...above, caller],
    current,
    maxCalls,
    maxOutputLength: limits.maxOutputLength,
  };
  const byName = new Map<string, CalledAgent>();
  for (const agent of all) {
    const name = agentToolName(agent.name);
    if (above.includes(agent.chainId)) continue;
    if (byName.has(name)) {
      services.onNotice(
        `agent ${quoted(agent.name)} ${agent.place} is left out: its name is that of another agent`,
      );
    } else {
      byName.set(name, agent);
    }
  }
  return [...byName.values()].map((agent) => createAgentTool(agent, calling));
}
