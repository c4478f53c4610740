import type { JsonObject } from "@bufbuild/protobuf";
import type {
  ExecuteSlashCommandRequest,
  SlashCommand as SlashCommandDeclaration,
  Summary,
  Task,
  Usage,
} from "@devtool/schema";
import type { AgentExecutor } from "./agent-executor.ts";

/**
 * An agent that a server can serve: ours, or that of somebody else. It is only described until a server opens it.
 *
 * An agent without commands needs three lines: `{ about: { name, description }, open: () => ({ createExecutor }) }`.
 */
export interface Agent {
  readonly about: About;
  /** The name of the model that answers in sessions that choose none. Default: empty, for an agent that names none. */
  readonly model?: string;
  /** Whether callers without credentials may use it. Default false; for an agent that acts on this machine it must be. */
  readonly servesAnonymous?: boolean;
  /** Whether it uses the MCP servers that clients bring to their sessions. Default false: a session that brings some is refused. */
  readonly takesMcpServers?: boolean;
  /**
   * Opens what the tasks of this agent share. Called once, before the server listens; when it throws, the server does
   * not start.
   */
  open(services: AgentServices): OpenAgent | Promise<OpenAgent>;
}

/** What the agent card says of an agent. */
export interface About {
  readonly name: string;
  readonly description: string;
  /** What it can do. Default: one skill, with the name and the description of the agent. */
  readonly skills?: readonly Skill[];
  /** The media types of what it takes, `image/*` for all of a kind; a client is told, none is refused. Default: text and JSON. */
  readonly inputModes?: readonly string[];
  /** The media types of what it answers with; a client that accepts none of them gets an error. Default: text and JSON. */
  readonly outputModes?: readonly string[];
}

/** One thing that an agent can do, as its card says it. */
export interface Skill {
  /** Names the skill among those of the agent. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly tags: readonly string[];
  /** Prompts that show it. Default: none. */
  readonly examples?: readonly string[];
  /** The media types that it takes. Default: those of the agent. */
  readonly inputModes?: readonly string[];
  /** The media types that it answers with. Default: those of the agent. */
  readonly outputModes?: readonly string[];
  /**
   * Which credentials a client needs for it: each list names security schemes of the card (`bearer`, `oidc`, `mtls`) that
   * it needs together, and one list is enough. Default: what the agent needs.
   */
  readonly security?: readonly (readonly string[])[];
}

/** An agent that is open, until its server closes. */
export interface OpenAgent extends Partial<AsyncDisposable> {
  /** Its slash commands. Default: none. */
  readonly commands?: AgentCommands;
  /** Makes the executor of one task, also of one that an earlier run of the server began. Must not throw. */
  createExecutor(task: Task): AgentExecutor;
  /**
   * Lists the tools and MCP servers that a task can use now, for clients that ask for them (Gemini CLI's dialect). Default: none. Where
   * it throws a `DevtoolError`, the client is shown none.
   */
  offers?(task: Task, signal: AbortSignal): Promise<AgentOffers>;
}

/** What the model of a task can use. */
export interface AgentOffers {
  /** All tools, those of MCP servers too. */
  readonly tools: readonly OfferedTool[];
  /** The operator's MCP servers and those that the client brought. */
  readonly mcpServers: readonly OfferedMcpServer[];
}

/** A tool as clients are shown it. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of type object. */
  readonly parameters?: JsonObject;
}

/** An MCP server as clients are shown it. */
export interface OfferedMcpServer {
  readonly name: string;
  readonly status: "connected" | "connecting" | "disconnected";
  /** Its tools, under the names that they have in `AgentOffers.tools`. */
  readonly tools: readonly OfferedTool[];
}

/** The slash commands of an agent. A command that starts is a task: its executor finds it in `Task.command`. */
export interface AgentCommands {
  /** The commands of a workspace as clients see them (CMD-1); without a workspace those that need none. */
  list(place: CommandPlace, signal: AbortSignal): Promise<readonly SlashCommandDeclaration[]>;
  /** Says why a command cannot start, for its user; undefined when it can (CMD-2). */
  check(request: ExecuteSlashCommandRequest, context: CommandContext, signal: AbortSignal): Promise<string | undefined>;
}

/** Where a command is typed. */
export interface CommandContext {
  /** The directory it works in: an absolute path. */
  readonly workspacePath: string;
  /** The conversation that it belongs to; empty for one of its own. */
  readonly contextId: string;
  /** Who typed it. */
  readonly principal: string;
}

/** For whom and where there are commands. */
export type CommandPlace = Pick<CommandContext, "workspacePath" | "principal">;

/** What a server gives to the agents that it opens. */
export interface AgentServices {
  /** The workspace of clients that name none; undefined when a client must name one. */
  readonly workspace: string | undefined;
  /** The directories in which workspaces may lie; empty for those of `workspace` alone. */
  readonly workspaceRoots: readonly string[];
  /** Where the agent may keep files of its own, beside those of the server; undefined when the server keeps nothing. */
  readonly dataDirectory: string | undefined;
  /** Which MCP servers clients may add to their sessions. */
  readonly clientMcpServers: "none" | "http" | "all";
  /** The principal of the operator: the holder of the server's token. */
  readonly operator: string;
  readonly conversations: AgentConversations;
  /** The ports that this server listens on, as of now: an agent should reach none of them. */
  readonly ownPorts: () => readonly number[];
  readonly now: () => Date;
  /** Makes ids that are never the same twice. */
  readonly nextId: () => string;
  /** Takes what the operator should know, in words. */
  readonly onNotice: (text: string) => void;
}

/** The conversations of a server, as its agents may reach them beside their turns. */
export interface AgentConversations {
  /** The task that the messages of a context go to: the latest that a message opened. Undefined when there is none. */
  find(context: Pick<CommandContext, "contextId" | "principal">): Promise<Task | undefined>;
  /**
   * Puts a summary in place of the older history of a task. `make` gets the task with what was said in the tasks before
   * it. Gives the summary when there was something to gain. Throws `Code.FailedPrecondition` while the task is at work.
   */
  summarize(taskId: string, make: (task: Task) => Promise<Summarized>): Promise<Summary | undefined>;
}

/** What came of summarizing a history. */
export interface Summarized {
  /** Undefined when there was nothing to gain. */
  readonly summary: Summary | undefined;
  /** What the model took for it; undefined when it was not asked. */
  readonly usage: Usage | undefined;
}
