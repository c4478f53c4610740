import { createFileAccess, createPolicyEngine, createReadDecision, type PolicyEngine } from "@devtool/policy";
import { ApprovalMode, type Task } from "@devtool/schema";
import type { AgentExecutor } from "@devtool/server/agent";
import { createAgentLoop } from "../agent/agent-loop.ts";
import type { Briefing } from "../agent/briefing.ts";
import { instructionsFor } from "../agent/instructions.ts";
import type { Model } from "../agent/model.ts";
import type { SlashCommands } from "../command/slash-commands.ts";
import type { Tool } from "../tool/tool.ts";
import { narrower } from "./approval-mode.ts";
import type { AgentHost } from "./host.ts";
import { Toolbox } from "./toolbox.ts";

/** Our own agent for one task: a model, or a slash command that is played like one, in the task's workspace. */
export function createTaskAgent(host: AgentHost, commands: SlashCommands, task: Task): AgentExecutor {
  const { principal } = task;
  const workspacePath = task.settings?.workspacePath ?? "";
  const { maxSteps } = host.shared.options;
  const mode = modeOf(host, task);
  const { model, tools } = thinkerOf(host, commands, task);
  const toolbox = createToolbox(host, task);
  const said = new Set<string>();
  const loop = createAgentLoop({
    model,
    workspacePath,
    policy: policyFor(host, mode, task),
    conversations: host.conversations,
    onNotice: host.shared.services.onNotice,
    nextId: host.shared.services.nextId,
    openTools: (signal) => toolbox.open(task, tools, signal),
    endProcesses: () => toolbox[Symbol.asyncDispose](),
    ...(maxSteps !== undefined && { maxSteps }),
    brief: async (toolNames) => {
      const { instructions, notices } = await briefing(host, { workspacePath, principal, mode, toolNames });
      const fresh = notices.filter((notice) => !said.has(notice));
      for (const notice of fresh) said.add(notice);
      return { instructions, notices: fresh };
    },
  });
  return { ...loop, [Symbol.asyncDispose]: () => toolbox[Symbol.asyncDispose]() };
}

/** The tools of a task, with what the rules of its principal let them show. */
export function createToolbox(host: AgentHost, task: Task): Toolbox {
  const place = { mode: modeOf(host, task), workspace: task.settings?.workspacePath ?? "" };
  const rules = host.rulesFor(task.principal);
  return new Toolbox(host, {
    access: createFileAccess(rules, place),
    decideReading: createReadDecision(rules, place),
  });
}

function modeOf({ shared }: AgentHost, { sessionSettings }: Task): ApprovalMode {
  const { approvalMode = ApprovalMode.DEFAULT } = shared.options;
  return narrower(approvalMode, sessionSettings?.approvalMode ?? ApprovalMode.UNSPECIFIED);
}

/** The policy of a session: the server's rules, its mode, and what its user approved. */
function policyFor(host: AgentHost, mode: ApprovalMode, { settings, principal }: Task): PolicyEngine {
  const { analyze, sandbox } = host;
  const rules = host.rulesFor(principal);
  const saved = host.savedOf(principal);
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
  const played = named(commands.play(command, context), shared.model.name);
  return { model: played, tools: commands.tools(command, context) };
}

interface BriefingFacts {
  readonly workspacePath: string;
  readonly principal: string;
  readonly mode: ApprovalMode;
  readonly toolNames: readonly string[];
}

async function briefing(
  host: AgentHost,
  { workspacePath, principal, mode, toolNames }: BriefingFacts,
): Promise<Briefing> {
  const { files, notices } = await host.memoryOf({ workspacePath, principal });
  const instructions = instructionsFor({
    workspacePath,
    memory: files,
    platform: process.platform,
    date: host.shared.services.now(),
    tools: toolNames,
    mode: mode === ApprovalMode.PLAN ? "plan" : "work",
  });
  return { instructions, notices };
}

/** The steps of a command under the name of the model that would answer, where none of its own takes part: events name one. */
function named(played: Model, name: string): Model {
  return played.name === "" ? { name, generate: (request, signal) => played.generate(request, signal) } : played;
}
