import { ApprovalMode, type Task } from "@devtool/schema";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { createAgentLoop } from "../agent/agent-loop.ts";
import type { Briefing } from "../agent/briefing.ts";
import { instructionsFor } from "../agent/instructions.ts";
import type { Model } from "../agent/model.ts";
import type { SlashCommands } from "../command/slash-commands.ts";
import { narrower } from "../server-options.ts";
import { createPolicyEngine } from "../tool/policy/rule-policy.ts";
import type { PolicyEngine } from "../tool/policy-engine.ts";
import type { Tool } from "../tool/tool.ts";
import type { AgentHost } from "./host.ts";
import { Toolbox } from "./toolbox.ts";

/** Our own agent for one task: a model, or a slash command that is played like one, in the task's workspace. */
export function createTaskAgent(host: AgentHost, commands: SlashCommands, task: Task): AgentExecutor {
  const workspacePath = task.settings?.workspacePath ?? "";
  const { approvalMode = ApprovalMode.DEFAULT } = host.shared.options;
  const mode = narrower(approvalMode, task.sessionSettings?.approvalMode ?? ApprovalMode.UNSPECIFIED);
  const { model, tools } = thinkerOf(host, commands, task);
  const toolbox = new Toolbox(host);
  const said = new Set<string>();
  const loop = createAgentLoop({
    model,
    workspacePath,
    policy: policyFor(host, mode, task),
    nextId: host.shared.nextId,
    openTools: (signal) => toolbox.open(task, tools, signal),
    endProcesses: () => toolbox[Symbol.asyncDispose](),
    brief: async (toolNames) => {
      const { instructions, notices } = await briefing(host, { workspacePath, mode, toolNames });
      const fresh = notices.filter((notice) => !said.has(notice));
      for (const notice of fresh) said.add(notice);
      return { instructions, notices: fresh };
    },
  });
  return { ...loop, [Symbol.asyncDispose]: () => toolbox[Symbol.asyncDispose]() };
}

/**
 * The policy of a session: the server's rules, its mode, and what its user approved. What is approved for good is the
 * operator's: it must not let through what another principal runs, and no other may add to it.
 */
function policyFor(host: AgentHost, mode: ApprovalMode, { settings, principal }: Task): PolicyEngine {
  const { rules, analyze, sandbox, shared } = host;
  const saved = principal === shared.principal ? host.saved : undefined;
  const workspace = settings?.workspacePath ?? "";
  const shellConfinement = async () => ((await sandbox()).confines ? "sandbox" : "none");
  return createPolicyEngine({ mode, workspace, shellConfinement, rules, analyze, ...(saved && { saved }) });
}

/** Who thinks in a task, and the tools that only it has. */
interface Thinker {
  readonly model: Model;
  readonly tools: readonly Tool[];
}

function thinkerOf({ shared }: AgentHost, commands: SlashCommands, task: Task): Thinker {
  const { command, contextId, principal, settings } = task;
  if (!command) return { model: shared.model, tools: [] };
  const context = { workspacePath: settings?.workspacePath ?? "", contextId, principal };
  return { model: commands.play(command, context), tools: commands.tools(command, context) };
}

interface BriefingFacts {
  readonly workspacePath: string;
  readonly mode: ApprovalMode;
  readonly toolNames: readonly string[];
}

async function briefing(host: AgentHost, { workspacePath, mode, toolNames }: BriefingFacts): Promise<Briefing> {
  const { files, notices } = await host.memoryOf(workspacePath);
  const instructions = instructionsFor({
    workspacePath,
    memory: files,
    platform: process.platform,
    date: host.shared.now(),
    tools: toolNames,
    mode: mode === ApprovalMode.PLAN ? "plan" : "work",
  });
  return { instructions, notices };
}
