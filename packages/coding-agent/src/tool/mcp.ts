import type {
  McpServer,
  SlashCommandArgument,
  TraceContext,
} from "@devtool/schema";
import type { AgentServices, StdioCommand } from "@devtool/server/agent";
import type { McpPromptMessage, Tool } from "./tool.ts";

/**
 * Support for MCP servers. `createMcp(options)` of `@devtool/mcp` implements
 * it.
 */
export interface Mcp {
  /** Prepares the MCP servers for one agent, without connecting to any. */
  open(services: McpServices): OpenMcp;
}

/** The services of an agent and its server that MCP servers need. */
export interface McpServices
  extends Pick<
    AgentServices,
    | "clientMcpServers"
    | "hasRoles"
    | "isLocal"
    | "onNotice"
    | "operator"
    | "ownPorts"
  > {
  /**
   * The environment variables of commands. They hold no secret, and no
   * workspace or other user can change the programs on PATH.
   */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Returns a command that starts another one in the sandbox, where it works on
   * a workspace. Throws a `DevtoolError` where no sandbox works.
   */
  confine(command: StdioCommand, workspacePath: string): Promise<StdioCommand>;
}

/**
 * The MCP servers of an agent, separate for each session.
 *
 * A server is connected when a session first needs it. A server that is
 * unavailable does not affect the others. Every method throws a `DevtoolError`
 * for invalid server settings.
 */
export interface OpenMcp extends AsyncDisposable {
  /** Throws `Code.InvalidArgument` for settings that no session can use. */
  assertUsable(servers: readonly McpServer[]): void;
  /** Returns the tools of the available servers, with unique names. */
  tools(session: McpSession, signal: AbortSignal): Promise<readonly Tool[]>;
  /** Returns the prompts of the available servers. */
  prompts(
    session: McpSession,
    signal: AbortSignal,
  ): Promise<readonly McpPrompt[]>;
  /** Returns the state of each server, without a request to any. */
  currentStatus(
    session: McpSession,
    signal: AbortSignal,
  ): Promise<readonly McpServerStatus[]>;
  /**
   * Connects to the servers, which it waits for up to three seconds, then
   * returns the state of each.
   */
  status(
    session: McpSession,
    signal: AbortSignal,
  ): Promise<readonly McpServerStatus[]>;
  /**
   * Waits for a server until the signal aborts, however often it fails. Resolves
   * at once for a name that no server of the session has.
   */
  waitFor(
    session: McpSession,
    server: string,
    signal: AbortSignal,
  ): Promise<void>;
  /**
   * Keeps the servers of a session until the result is disposed of. Others that
   * nobody uses are ended when there are many.
   */
  hold(session: McpSession): Promise<AsyncDisposable>;
  /** Stops all servers, clears their failures and connects again. */
  refresh(session: McpSession, signal: AbortSignal): Promise<void>;
}

/**
 * Identifies the MCP servers of a session. Principals and workspaces never
 * share servers.
 */
export interface McpSession {
  readonly principal: string;
  /**
   * The roles that the caller had when it sent what the agent works on.
   * Default: none.
   */
  readonly roles?: readonly string[] | undefined;
  /** An absolute path; paths in the settings of servers are relative to it. */
  readonly workspacePath: string;
  /**
   * The servers that the client brought, in addition to the operator's. On a
   * conflict, the operator's server keeps its name.
   */
  readonly clientServers: readonly McpServer[];
}

/** The state of one MCP server. */
export interface McpServerStatus {
  readonly name: string;
  /**
   * The state of the connection.
   *
   * `idle`: not needed so far. `failed`: tried again when a session next needs
   * it. `stopped`: tried again only after a refresh.
   */
  readonly state: "idle" | "connecting" | "ready" | "failed" | "stopped";
  /** The reason why the server is unavailable. Empty otherwise. */
  readonly reason: string;
  /**
   * What its lists hold that cannot be used, in sentences that name each
   * element and the reason. Default: nothing.
   */
  readonly leftOut?: readonly string[];
  /**
   * What the server says about itself for a model, as it sent it. Default:
   * nothing.
   */
  readonly instructions?: string;
  /**
   * The number of its tools, without those that its settings exclude. 0 before
   * the tools were listed.
   */
  readonly toolCount: number;
}

/**
 * A prompt of an MCP server: messages with arguments. Users start it with
 * `/<server> <prompt>`.
 */
export interface McpPrompt {
  /** The name of the server in its settings. */
  readonly server: string;
  /** The server's name for the prompt. */
  readonly name: string;
  /** Empty when the server gives none. */
  readonly description: string;
  readonly arguments: readonly SlashCommandArgument[];
  /**
   * Returns the messages of the prompt for the given arguments. Throws when the
   * server fails.
   *
   * `trace` is the place of the turn in a trace. Default: the server records no
   * traces.
   */
  get(
    args: Readonly<Record<string, string>>,
    signal: AbortSignal,
    trace?: TraceContext,
  ): Promise<readonly McpPromptMessage[]>;
}
