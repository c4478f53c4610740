import type { JsonObject } from "@bufbuild/protobuf";

/** A model that sessions of an agent can choose. */
export interface OfferedModel {
  /** The value with which sessions choose it (`SessionSettings.model`). */
  readonly name: string;

  /** The name for people. Default: none. */
  readonly displayName?: string | undefined;

  /**
   * The maximum number of tokens that the model accepts as its input. Default:
   * unknown.
   */
  readonly contextWindowTokens?: number | undefined;
}

/** The tools and MCP servers that a task can use. */
export interface AgentOffers {
  /** All tools, including those of MCP servers. */
  readonly tools: readonly OfferedTool[];

  /** The operator's MCP servers and those that the client added. */
  readonly mcpServers: readonly OfferedMcpServer[];
}

/** A tool in the list for clients. */
export interface OfferedTool {
  /** The name that calls of the tool have (`ToolCall.toolName`). */
  readonly name: string;

  /** What the tool does, as the agent's model reads it. */
  readonly description: string;

  /** The parameters: a JSON Schema of type object. Default: none. */
  readonly parameters?: JsonObject | undefined;
}

/** An MCP server in the list for clients. */
export interface OfferedMcpServer {
  /** The name that the operator or the client gave it (`McpServer.name`). */
  readonly name: string;

  /**
   * The state of the connection; `disconnected` also for a server that has
   * failed or was not started yet.
   */
  readonly status: "connected" | "connecting" | "disconnected";

  /** The server's tools, under the same names as in `AgentOffers.tools`. */
  readonly tools: readonly OfferedTool[];
}
