import type { McpServer, SlashCommandArgument } from "@devtool/schema";
import type { AgentServices } from "@devtool/server/agent";
import type { Tool } from "./tool.ts";

/** The MCP servers of a coding agent, not yet opened: `createMcp(options)` of `@devtool/mcp`. */
export interface Mcp {
  /** Opens them for one agent; connects to none. */
  open(services: McpServices): OpenMcp;
}

/** What MCP servers get of the agent and of the server that it works in. */
export interface McpServices extends Pick<AgentServices, "clientMcpServers" | "ownPorts" | "onNotice"> {
  /** The environment of commands: without secrets, its PATH without what a workspace or another user can change. */
  readonly environment: Readonly<Record<string, string>>;
  /** Asks the model of the agent what a server wants to know, after the user agreed. */
  readonly sample: Sample;
}

/**
 * MCP servers by session. They connect when a session needs them first; one that is not there takes nothing from the others. Every
 * method throws a `DevtoolError` for servers that cannot be used as they are described.
 */
export interface OpenMcp extends AsyncDisposable {
  /** The tools of the servers that are there, by names that no two share. */
  tools(session: McpSession, signal: AbortSignal): Promise<readonly Tool[]>;
  /** The prompts of the servers that are there. */
  prompts(session: McpSession, signal: AbortSignal): Promise<readonly McpPrompt[]>;
  /** The state of each server, once those that can be reached were. */
  status(session: McpSession, signal: AbortSignal): Promise<readonly McpServerStatus[]>;
  /** Ends every server, forgets what failed and connects again. */
  refresh(session: McpSession, signal: AbortSignal): Promise<void>;
}

/** Whose MCP servers are wanted: they are never shared among principals or workspaces. */
export interface McpSession {
  readonly principal: string;
  /** An absolute path. */
  readonly workspacePath: string;
  /** The servers that the client of the session brought, beside the operator's, whose names come first. */
  readonly clientServers: readonly McpServer[];
}

/** The state of one MCP server. */
export interface McpServerStatus {
  readonly name: string;
  /** `idle` before it is needed; `failed` will be tried again when it is needed, `stopped` not before a refresh. */
  readonly state: "idle" | "connecting" | "ready" | "failed" | "stopped";
  /** Why it is not there; empty otherwise. */
  readonly reason: string;
  /** The number of its tools without those that its settings leave out; 0 before they were listed. */
  readonly toolCount: number;
}

/** A prompt that an MCP server offers: messages with arguments to be filled in. */
export interface McpPrompt {
  /** The name of the server, as configured. */
  readonly server: string;
  /** As the server calls it. */
  readonly name: string;
  readonly description: string;
  readonly arguments: readonly SlashCommandArgument[];
  /** Fills the prompt in. Throws when the server cannot. */
  get(args: Readonly<Record<string, string>>, signal: AbortSignal): Promise<readonly McpPromptMessage[]>;
}

/** One message of a prompt that was filled in. */
export interface McpPromptMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** What an MCP server asks the model (sampling), after the user agreed. */
export interface SampleRequest {
  readonly systemPrompt: string;
  readonly messages: readonly McpPromptMessage[];
  /** The maximum number of tokens of the answer. */
  readonly maxTokens: number;
}

/** Asks the model on a server's behalf. */
export type Sample = (
  request: SampleRequest,
  signal: AbortSignal,
) => Promise<{ readonly model: string; readonly text: string }>;
