import {
  createServer,
  type DevtoolServer,
  type ServerSettings,
} from "@devtool/server";
import { codingAgent } from "./coding-agent.ts";
import type { CodingAgentOptions } from "./coding-agent-options.ts";

/**
 * Options of a server with the coding agent: those of the server and those of
 * the agent.
 */
export type CodingServerOptions = ServerSettings & CodingAgentOptions;

/**
 * Starts a server whose only agent is the coding agent, named `devtool`.
 *
 * Without options, the agent plays prompts as scripts and the server keeps its
 * tasks in memory. Throws the `DevtoolError`s of `createServer` and
 * `codingAgent`.
 */
export async function serveCodingAgent(
  options: CodingServerOptions = {},
): Promise<DevtoolServer> {
  return await createServer({
    ...options,
    agents: { devtool: codingAgent(options) },
  });
}
