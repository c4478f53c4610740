import { defined } from "@devtool/internal/json";
import type { Agent } from "@devtool/server/agent";
import type { AcpAgentOptions, AcpLimits } from "./acp-agent-options.ts";
import { AcpHost } from "./acp-host.ts";

/** The limits of an agent where the options give none. */
const DEFAULT_LIMITS: AcpLimits = {
  startTimeoutMs: 30_000,
  cancelTimeoutMs: 3000,
  maxMessageBytes: 8 * 1024 * 1024,
  maxMessagesPerSecond: 5000,
  maxIdle: 4,
};

/**
 * Creates an agent that hands its tasks to a program which speaks the Agent
 * Client Protocol (ACP), version 1, for `createServer({ agents: { … } })` of
 * `@devtool/server`.
 *
 * Each conversation has a session of its own in a process of its own, which
 * starts in the workspace of the conversation. The id of the session is in the
 * task's log: after a restart the agent loads it and goes on.
 */
export function acpAgent(options: AcpAgentOptions): Agent {
  const {
    name,
    description = `The agent ${name}, over ACP.`,
    skills,
    inputModes,
  } = options;
  return {
    about: defined({ name, description, skills, inputModes }),
    follows: ["approval_mode", "model", "mcp_servers", "agent_options", "fork"],
    open: (services) =>
      new AcpHost(options, { ...DEFAULT_LIMITS, ...options.limits }, services),
  };
}
