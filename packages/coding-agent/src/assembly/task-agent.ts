import { callerOfTask } from "@devtool/internal/task-caller";
import {
  createFileAccess,
  createPolicyEngine,
  createReadDecision,
  type PolicyEngine,
} from "@devtool/policy";
import {
  ApprovalMode,
  awaitedToolCalls,
  isQuestionOfCall,
  type Task,
} from "@devtool/schema";
import type { AgentExecutor, Turn } from "@devtool/server/agent";
import { createAgentLoop } from "../agent/agent-loop.ts";
import type { Briefing } from "../agent/briefing.ts";
import { writeInstructions } from "../agent/instructions.ts";
import type { SlashCommands } from "../command/slash-commands.ts";
import { checkEditedArguments } from "../tool/edited-call.ts";
import type { ToolSet } from "../tool/tool.ts";
import { agentFiles, agentTools, cancelCalls } from "./agent-tools.ts";
import type { AgentHost } from "./host.ts";
import { awaitedServer } from "./picked-up-calls.ts";
import { sessionToolsEvents } from "./session-tools.ts";
import { showEdit } from "./show-edit.ts";
import { mcpSessionOf, Toolbox } from "./toolbox.ts";

/** Where a decision of the policy applies. */
type PolicyPlace = Parameters<typeof createFileAccess>[1];

/**
 * Creates the executor of one task: the agent loop with a model, or with a
 * slash command in place of the model.
 */
export function createTaskAgent(
  host: AgentHost,
  commands: SlashCommands,
  task: Task,
): AgentExecutor {
  const { command, contextId, principal } = task;
  const { options, services, model } = host.dependencies;
  const workspacePath = task.settings?.workspacePath ?? "";
  // A message may change the approval mode of the session: each decision is by
  // the mode as it is then.
  let current: Pick<Turn, "earlier" | "task"> = { task, earlier: [] };
  const place = {
    workspace: workspacePath,
    get mode(): ApprovalMode {
      return host.approvalModeOf(current.task);
    },
    get caller(): PolicyPlace["caller"] {
      return callerOfTask(current.task);
    },
  };
  const { sessionSettings, sender } = task;
  const roles = sender?.roles;
  const session = { workspacePath, contextId, sessionSettings };
  const context = { ...session, principal, roles };
  const decideReading = createReadDecision(host.rulesFor(principal), place);
  const toolbox = createToolbox(host, task, place);
  const policy = createTaskPolicy(host, principal, place);
  const commandTools = command ? commands.tools(command, context, task.id) : [];
  const openTools = async (
    turn: () => Pick<Turn, "earlier" | "task">,
    signal: AbortSignal,
  ): Promise<ToolSet> => {
    const agents = command ? [] : await agentTools(host, turn);
    return toolbox.open(turn().task, [...commandTools, ...agents], signal);
  };
  const sentNotices = new Set<string>();
  const loop = createAgentLoop({
    source: command ? commands.play(command, context) : model,
    model,
    workspacePath,
    policy,
    histories: host.histories,
    onNotice: services.onNotice,
    nextId: services.nextId,
    openTools: (signal) => openTools(() => current, signal),
    awaitedServer: (call, signal) =>
      awaitedServer(host, current.task, call, signal),
    describeTools: async (toolNames, signal) =>
      command ? [] : sessionToolsEvents(host, current.task, toolNames, signal),
    ide: command
      ? undefined
      : {
          read: (_task, signal) =>
            host.ide.context(context, decideReading, signal),
        },
    operator: services.operator,
    showEdit: host.ide.isFor(principal)
      ? (asked, turn, signal) => {
          const { nextId, onNotice } = services;
          const editor = { ide: host.ide, place: context, nextId, onNotice };
          void showEdit(editor, { asked, turn }, signal);
        }
      : undefined,
    endProcesses: () => toolbox[Symbol.asyncDispose](),
    maxSteps: options.maxSteps,
    readBriefing: (toolNames, signal) =>
      readBriefing(host, { ...current, toolNames, sentNotices }, signal),
  });
  return {
    ...loop,
    checkArguments: async (edit, signal) => {
      const { task, call } = edit;
      // The agent that asks checks them when it gets the answer.
      if (isQuestionOfCall(task, call.toolCallId)) return;
      // No turn may be running: after a restart, a question waits in the log
      // alone.
      const asked = { task, earlier: current.earlier };
      await using toolSet = await openTools(() => asked, signal);
      const { tools, settle } = toolSet;
      const { onNotice } = services;
      const checking = { tools, settle, policy, task, onNotice };
      await checkEditedArguments(edit, checking, signal);
    },
    asksElsewhere: async (waiting, signal) =>
      asksAboutFile(waiting) && (await host.ide.showsDiffs(context, signal)),
    execute: async function* (turn, signal) {
      current = turn;
      try {
        yield* loop.execute(turn, signal);
      } catch (reason) {
        if (signal.aborted) yield* cancelCalls(host, turn.task, signal.reason);
        throw reason;
      }
    },
    [Symbol.asyncDispose]: () => toolbox[Symbol.asyncDispose](),
  };
}

/** Whether a task asks whether a file may change. */
function asksAboutFile(task: Task): boolean {
  return awaitedToolCalls(task).some(
    ({ confirmationRequest }) =>
      confirmationRequest?.details.case === "fileEditDetails",
  );
}

/**
 * Creates the tools of a task. The rules for its principal, and its approval
 * mode, decide which files they may show.
 */
export function createToolbox(
  host: AgentHost,
  task: Task,
  place: PolicyPlace = {
    mode: host.approvalModeOf(task),
    workspace: task.settings?.workspacePath ?? "",
    caller: callerOfTask(task),
  },
): Toolbox {
  const rules = host.rulesFor(task.principal);
  return new Toolbox(
    host,
    createFileAccess(rules, place),
    createReadDecision(rules, place),
  );
}

/**
 * Creates the policy of a task: the rules and saved approvals for its
 * principal, in its approval mode.
 */
export function createTaskPolicy(
  host: AgentHost,
  principal: string,
  place: PolicyPlace,
): PolicyEngine {
  return createPolicyEngine({
    workspace: place.workspace,
    get mode() {
      return place.mode;
    },
    get caller() {
      return place.caller;
    },
    rules: host.rulesFor(principal),
    saved: host.savedApprovalsOf(principal),
    analyze: host.analyze,
    shellConfinement: async () =>
      (await host.sandbox()).confines ? "sandbox" : "none",
  });
}

/** The turn that a briefing is for. */
interface BriefedTurn extends Pick<Turn, "task"> {
  readonly toolNames: readonly string[];
  /** The notices that were sent, to which those of the briefing are added. */
  readonly sentNotices: Set<string>;
}

/** Reads the briefing for a turn. Its notices are those that were not sent. */
async function readBriefing(
  host: AgentHost,
  { task, toolNames, sentNotices }: BriefedTurn,
  signal: AbortSignal,
): Promise<Briefing> {
  const workspacePath = task.settings?.workspacePath ?? "";
  const { files, notices } = await host.loadMemory({
    workspacePath,
    principal: task.principal,
  });
  const servers = await host.mcp?.currentStatus(mcpSessionOf(task), signal);
  const instructions = writeInstructions({
    workspacePath,
    memory: files,
    platform: process.platform,
    date: host.dependencies.services.now(),
    tools: toolNames,
    servers: servers ?? [],
    mode: host.approvalModeOf(task) === ApprovalMode.PLAN ? "plan" : "work",
  });
  const { ownFiles, repositoryFiles } = await agentFiles(host, task);
  const problems = [...ownFiles.problems, ...repositoryFiles.problems];
  const newNotices = [...notices, ...problems].filter(
    (notice) => !sentNotices.has(notice),
  );
  for (const notice of newNotices) sentNotices.add(notice);
  return { instructions, notices: newNotices };
}
