import type { CodingServerOptions } from "@devtool/coding-agent";
import type { Agent } from "@devtool/server";
import type { AgentMakers } from "./agent-modules.ts";
import { permissionPolicy } from "./agent-permission.ts";
import type { OperatorIde } from "./user-ide.ts";
import type { WorkflowEngine } from "./workflow-files.ts";

/** Where the agents of a server run. */
interface AgentsPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workspaces: readonly string[];
  /** The data directory. */
  readonly data: string;
  /** The editors of the user. */
  readonly ide: OperatorIde;
  /** Gets notices for the operator, as plain text. */
  readonly onNotice: (text: string) => void;
  /** Returns what keeps the runs of workflows. Default: their tasks do. */
  readonly engine?: () => Promise<WorkflowEngine>;
}

/** Returns how the agents of a server are made by its configuration. */
export function agentMakers(
  configured: CodingServerOptions,
  { env, workspaces, data, ide, onNotice, engine }: AgentsPlace,
  codingAgent: () => Agent,
): AgentMakers {
  const { remoteAgents, agentCalls, approvalMode } = configured;
  const workflowOptions = {
    remoteAgents,
    maxDepth: agentCalls?.maxDepth,
    silenceMs: agentCalls?.silenceMs,
    approvalMode,
  };
  return {
    codingAgent,
    workflow: async (path) => {
      const { createWorkflowAgent } = await import("./workflow-files.ts");
      return createWorkflowAgent(path, {
        ...workflowOptions,
        engine: await engine?.(),
      });
    },
    onNotice,
    place: {
      env,
      workspaces,
      approvalMode,
      permission: () =>
        permissionPolicy({ ...configured, dataDirectory: data }),
      ide,
    },
  };
}
