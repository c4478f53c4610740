import { createServer, type DevtoolServer, type ServerSettings } from "@devtool/server";
import { codingAgent } from "./coding-agent.ts";
import type { CodingAgentOptions } from "./coding-agent-options.ts";

/** The options of a server with the coding agent alone: those of the server, and those of the agent. */
export type CodingServerOptions = ServerSettings & CodingAgentOptions;

/**
 * Starts a server with the coding agent alone, named `devtool`. Without options it plays prompts as scripts and keeps its
 * tasks in memory.
 *
 * Throws a `DevtoolError` as `createServer` and `codingAgent` do.
 */
export function serveCodingAgent(options: CodingServerOptions = {}): Promise<DevtoolServer> {
  return createServer({ ...options, agents: { devtool: codingAgent(options) } });
}
