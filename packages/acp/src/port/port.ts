import type { DevtoolClient } from "@devtool/client";
import { findExtension } from "@devtool/schema";
import type { AgentCard } from "@devtool/schema/a2a-v1";

/**
 * The agent server behind an ACP agent, for sessions in one working directory.
 */
export interface Port {
  readonly client: DevtoolClient;
  /**
   * The absolute path of the directory on the server that sessions work in. A
   * session can then be loaded only with the directory that it works in.
   * Undefined leaves the choice to the server.
   */
  readonly workspace?: string | undefined;
  /**
   * Whether the server was made for this client, and its user is the operator.
   * It may then start MCP servers that are programs, and the user is asked about
   * each. Default: false, so the server decides.
   */
  readonly isOwn?: boolean | undefined;
  /** The description of the agent in the server's card. */
  readonly agent: PortAgent;
  /**
   * The agents that sessions can choose, by name, the one of sessions that
   * choose none first.
   *
   * Default: none, so that the client is not offered a choice.
   */
  readonly agents?: ReadonlyMap<string, PortAgent> | undefined;
}

/** The properties of the agent behind the port that an ACP client needs. */
export interface PortAgent {
  readonly name: string;
  readonly version: string;
  /**
   * The media types that prompts may contain, such as `text/plain`:
   * `AgentCard.default_input_modes`. An empty list permits every type.
   */
  readonly inputModes: readonly string[];
  /**
   * Whether the agent has the development-tool extension: sessions with
   * settings, tool calls, approvals and slash commands. An agent without it
   * gets each prompt as a new task of the same context.
   */
  readonly hasExtension: boolean;
  /**
   * The settings of sessions that the agent follows, such as `approval_mode`:
   * `params.follows` of the extension in its card. Default: all.
   */
  readonly follows?: readonly unknown[] | undefined;
  /** What the agent does. Default: not known. */
  readonly description?: string;
  /** Its skills. Default: not known. */
  readonly skills?: readonly {
    readonly name: string;
    readonly description: string;
  }[];
}

/** Whether an agent follows a setting of sessions. */
export function isFollowed(
  { hasExtension, follows }: PortAgent,
  setting:
    | "added_mcp_servers"
    | "approval_mode"
    | "fork"
    | "fork_before_message"
    | "mcp_servers"
    | "model",
): boolean {
  return hasExtension && (follows?.includes(setting) ?? !LATER.has(setting));
}

/** What a server that does not say what it follows is too old for. */
const LATER: ReadonlySet<string> = new Set([
  "added_mcp_servers",
  "fork",
  "fork_before_message",
]);

/** Returns what an agent card says about an agent. */
export function portAgentFrom(card: AgentCard): PortAgent {
  const { name, version, description, skills } = card;
  const { defaultInputModes, capabilities } = card;
  const extensions = capabilities?.extensions ?? [];
  const found = findExtension(extensions.map(({ uri }) => uri));
  const { follows } = extensions.find(({ uri }) => uri === found)?.params ?? {};
  return {
    name,
    version,
    description,
    skills,
    inputModes: defaultInputModes,
    hasExtension: found !== undefined,
    follows: Array.isArray(follows) ? follows : undefined,
  };
}
