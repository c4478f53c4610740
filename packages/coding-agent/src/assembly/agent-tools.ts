import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { endsWork } from "@devtool/internal/ends-work";
import {
  findToolCallDetail,
  isQuestionOfCall,
  NoticeSchema,
  openToolCalls,
  type Task,
  ToolCallStatus,
} from "@devtool/schema";
import type { AgentEvent } from "@devtool/server/agent";
import type { AgentFile, FileAgents } from "../delegate/agent-files.ts";
import type { CallingTask } from "../delegate/agent-tool.ts";
import type { CalledAgent } from "../delegate/called-agent.ts";
import type { Tool } from "../tool/tool.ts";
import { AGENT_DIRECTORY } from "../trust/config-files.ts";
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
  const { options, limits } = host.dependencies;
  const { maxCalls, silenceMs } = {
    ...{ ...DEFAULT_CALL_LIMITS, silenceMs: undefined },
    ...options.agentCalls,
  };
  const called = await calledAgents(host, current().task);
  if (!called) return [];
  const { createAgentTool } = await import("../delegate/agent-tool.ts");
  const calling = {
    chain: called.chain,
    current,
    maxCalls,
    silenceMs,
    maxOutputLength: limits.maxOutputLength,
  };
  return called.agents.map((agent) => createAgentTool(agent, calling));
}

/**
 * Cancels what the calls of a task that run have begun at other agents, and
 * yields a notice of each that cannot be told. Nothing ends when the server
 * stops or has lost its store, since the calls go on later.
 *
 * Waits for the agents, so that a task whose cancellation is in its log has
 * none that works for it, unless it says so.
 *
 * @param reason what ended the turn
 */
export async function* cancelCalls(
  host: AgentHost,
  task: Task,
  reason: unknown,
): AsyncIterable<AgentEvent> {
  if (!endsWork(reason)) return;
  const calls = openToolCalls(task).flatMap((call) => {
    const { toolCallId, status } = call;
    const { delegation } = findToolCallDetail(task, toolCallId) ?? {};
    const runs =
      status === ToolCallStatus.EXECUTING &&
      !isQuestionOfCall(task, toolCallId);
    // A call of an MCP server cancels its own task.
    return runs && delegation && delegation.mcpServer === ""
      ? [{ call, agentName: delegation.agent }]
      : [];
  });
  if (calls.length === 0) return;
  const { connect } = await import("../delegate/agent-tool.ts");
  const { cancelWork, keepUntold, MAY_GO_ON } = await import(
    "../delegate/call-ids.ts"
  );
  const { CANCEL_MS } = await import("../delegate/child-task.ts");
  const agents = (await calledAgents(host, task))?.agents;
  const signal = AbortSignal.timeout(CANCEL_MS);
  const problems = await Promise.all(
    calls.map(async ({ call: { toolCallId, inputParameters }, agentName }) => {
      const { task_id: taskId } = inputParameters ?? {};
      const call = {
        place: { task, toolCallId },
        taskId: typeof taskId === "string" ? taskId : "",
      };
      const agent = agents?.find(({ name }) => name === agentName);
      if (!agent) {
        return `Agent ${agentName} is not served any more: ${MAY_GO_ON}.`;
      }
      try {
        const place = { task, isResumed: true };
        const connection = await connect({ agent, place }, signal);
        await cancelWork({ ...call, agent }, connection, signal);
        return undefined;
      } catch (failure) {
        const why = signal.aborted
          ? `it did not answer within ${CANCEL_MS / 1000} seconds`
          : ConnectError.from(failure).rawMessage;
        const fate = signal.aborted ? await keepUntold(agent, call) : MAY_GO_ON;
        return `Agent ${agentName} could not be told to cancel: ${why}; ${fate}.`;
      }
    }),
  );
  for (const text of problems) {
    if (text === undefined) continue;
    yield { case: "notice", value: create(NoticeSchema, { text }) };
  }
}

/** The agents of files for a task, by who wrote the files. */
interface AgentsOfFiles {
  readonly ownFiles: FileAgents;
  readonly repositoryFiles: FileAgents;
}

const NO_FILES: FileAgents = { remote: [], local: [], problems: [] };

/**
 * Reads the agent files for a task: for the operator those of the operator's own
 * directory, and those of its workspace where the operator trusts it.
 */
export async function agentFiles(
  host: AgentHost,
  { principal, settings }: Pick<Task, "principal" | "settings">,
): Promise<AgentsOfFiles> {
  const { options, services } = host.dependencies;
  const workspacePath = settings?.workspacePath ?? "";
  const own =
    principal === services.operator ? (options.agentDirectory ?? "") : "";
  const hasFiles = existsSync(join(workspacePath, AGENT_DIRECTORY));
  const hasOwn = own !== "" && existsSync(own);
  // Most tasks have none, and do without what reads them.
  if (!hasFiles && !hasOwn) {
    return { ownFiles: NO_FILES, repositoryFiles: NO_FILES };
  }
  const trust = await host.trust.trustOf(workspacePath);
  const { isAgentFile, readAgentFiles } = await import(
    "../delegate/agent-files.ts"
  );
  const files =
    trust.case === "trusted"
      ? [...trust.files].filter(([path]) => isAgentFile(path))
      : [];
  return {
    ownFiles: readAgentFiles(hasOwn ? filesIn(own) : []),
    repositoryFiles: readAgentFiles(files),
  };
}

function filesIn(directory: string): AgentFile[] {
  const names = readdirSync(directory, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && entry.name.endsWith(".md"),
  );
  return names.map(({ name }) => {
    const path = join(directory, name);
    return [path, readFileSync(path)];
  });
}

/**
 * Returns the agents that a task may call, and the chain down to its own one.
 * Undefined for none.
 */
export async function calledAgents(
  host: AgentHost,
  task: Task,
): Promise<
  | {
      readonly agents: readonly CalledAgent[];
      readonly chain: readonly string[];
    }
  | undefined
> {
  const { options, services } = host.dependencies;
  const { maxDepth } = { ...DEFAULT_CALL_LIMITS, ...options.agentCalls };
  const files = await agentFiles(host, task);
  const onNotice = (problem: string): void => {
    if (host.toldAgents.has(problem)) return;
    host.toldAgents.add(problem);
    services.onNotice(problem);
  };
  const found = [files.ownFiles, files.repositoryFiles];
  for (const problem of found.flatMap(({ problems }) => problems)) {
    onNotice(problem);
  }
  const { remoteAgents = [] } = options;
  const remote = [...remoteAgents, ...found.flatMap(({ remote }) => remote)];
  const hasRemote = task.principal === services.operator && remote.length > 0;
  // What nobody can call needs none of the code for it.
  if (
    services.agents.listed.length < 2 &&
    !hasRemote &&
    found.every(({ local }) => local.length === 0)
  ) {
    return undefined;
  }
  const { reachableAgents } = await import("../delegate/reachable-agents.ts");
  return reachableAgents(task, {
    services: { ...services, onNotice },
    untold: host.untold,
    remoteAgents,
    ...files,
    maxDepth,
    modes: (asked) => ({
      mode: host.approvalModeOf(asked),
      operatorMode: host.approvals.approvalMode,
    }),
  });
}
