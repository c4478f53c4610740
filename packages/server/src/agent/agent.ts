import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Transport } from "@connectrpc/connect";
import type {
  ExecuteSlashCommandRequest,
  FoundAgent,
  ListedAgentSchema,
  SessionSettings,
  SlashCommand as SlashCommandDeclaration,
  Summary,
  Task,
} from "@devtool/schema";
import type { JSONWebKeySet } from "jose";
import type { ApprovalStorage } from "../store/approval-storage.ts";
import type { UntoldCancelStorage } from "../store/untold-cancel-storage.ts";
import type { AgentExecutor } from "./agent-executor.ts";
import type { AgentOffers, OfferedModel } from "./agent-offers.ts";
import type { AgentWorkspace } from "./agent-workspace.ts";
import type { GoalChecks } from "./goal-checks.ts";
import type { ApprovalBasis } from "./permission.ts";

/**
 * An agent that a server can serve, given to `createServer` in
 * `ServerOptions.agents`.
 *
 * An `Agent` is a description: nothing runs before the server calls `open`. The
 * smallest agent has a name, a description and an executor:
 *
 * ```ts
 * const agent: Agent = {
 *   about: { name: "Echo", description: "Repeats each message." },
 *   open: () => ({ createExecutor: () => executor }),
 * };
 * ```
 */
export interface Agent {
  /** The agent as its agent card describes it. */
  readonly about: About;

  /**
   * The name of the model in sessions that choose none; shown to clients.
   * Default: empty.
   */
  readonly model?: string | undefined;

  /**
   * Whether callers without credentials may use the agent
   * (`ServerSettings.anonymous`). Default false. Leave it false for an agent
   * that acts on this machine.
   */
  readonly servesAnonymous?: boolean | undefined;

  /**
   * The settings of clients that the agent follows, those of a session's first
   * message and of later ones. A request with any other is refused, and nothing
   * is stored. Default: none.
   *
   * The agent finds them in `Turn.task.sessionSettings`, and those of one
   * message in `Turn.prompt`.
   */
  readonly follows?: readonly ClientSetting[] | undefined;

  /**
   * Opens the resources that all tasks of the agent share.
   *
   * Called once, before the server handles requests. When it throws, the server
   * closes the agents that are open and does not start.
   */
  open(services: AgentServices): OpenAgent | Promise<OpenAgent>;

  /**
   * Loads the code that a first turn needs, which would wait for it otherwise.
   * `devtool serve` calls it when it listens. Default: nothing.
   */
  load?(): Promise<void>;
}

/** The settings that clients choose, in the order in which they are checked. */
export const CLIENT_SETTINGS = [
  "allowed_tools",
  "approval_mode",
  "model",
  "mcp_servers",
  "added_mcp_servers",
  "agent_options",
  "turn",
  "workflow_fork",
  "fork",
  "fork_before_message",
] as const;

/**
 * A setting that clients choose, by its name on the wire: a field of
 * `SessionSettings`, `turn` of `MessageSettings`, whose directory
 * `turnDirectory` returns, or `workflow_fork` in it, which only workflows follow.
 * `fork` is `fork` of `MessageSettings`, and `fork_before_message` one that names a
 * message: `Turn.earlier` has the other conversation.
 * `added_mcp_servers` is `mcp_servers` of later messages, which
 * `Turn.task.sessionSettings` has from then on.
 */
export type ClientSetting = (typeof CLIENT_SETTINGS)[number];

/** The description of an agent in its agent card. */
export interface About {
  /** The display name. */
  readonly name: string;

  /** What the agent does, for users who choose an agent. */
  readonly description: string;

  /**
   * The agent's skills. Default: one skill with the name and the description of
   * the agent.
   */
  readonly skills?: readonly Skill[] | undefined;

  /**
   * The media types that the agent accepts; `image/*` stands for all types of a
   * kind. Default: text and JSON. Informs clients only: the server refuses no
   * input because of it.
   */
  readonly inputModes?: readonly string[] | undefined;

  /**
   * The media types of the agent's output. Default: text and JSON. A client
   * that accepts none of them gets an error.
   */
  readonly outputModes?: readonly string[] | undefined;

  /**
   * Extensions of A2A that the agent takes beside the development-tool
   * extension. Informs clients only. Default: none.
   */
  readonly extensions?: readonly CardExtension[] | undefined;
}

/** An optional extension of A2A in an agent card. */
export interface CardExtension {
  /** Identifies the extension and its version. */
  readonly uri: string;

  /** How the agent uses the extension, for people who write clients. */
  readonly description: string;
}

/** One skill of an agent, as its agent card lists it. */
export interface Skill {
  /** Identifies the skill among those of the agent. */
  readonly id: string;

  /** The display name. */
  readonly name: string;

  /** What the skill does, for users who choose an agent. */
  readonly description: string;

  /** Keywords by which clients can find the skill. */
  readonly tags: readonly string[];

  /** Prompts that show how to use the skill. Default: none. */
  readonly examples?: readonly string[] | undefined;

  /** The media types that the skill accepts. Default: those of the agent. */
  readonly inputModes?: readonly string[] | undefined;

  /** The media types of the skill's output. Default: those of the agent. */
  readonly outputModes?: readonly string[] | undefined;

  /**
   * The credentials that the skill requires: a list of alternatives, each of
   * which names the security schemes of the card (`bearer`, `oidc`, `mtls`)
   * that are required together. Default: those of the agent.
   */
  readonly security?: readonly (readonly string[])[] | undefined;
}

/**
 * An agent that a server has opened. The server disposes of it when it closes,
 * after all executors have ended their turns, and ignores an error of that.
 */
export interface OpenAgent extends Partial<AsyncDisposable> {
  /** The agent's slash commands. Default: none. */
  readonly commands?: AgentCommands | undefined;

  /**
   * What decides how far the agent goes without asking. An agent that has it
   * goes no further than `Task.approval_limit`. Default: it has no such modes.
   */
  readonly approvals?: ApprovalBasis | undefined;

  /**
   * Whether its executors have `asksElsewhere`: then a start of the server opens
   * tasks that wait for an answer. Default false.
   */
  readonly asksElsewhere?: boolean | undefined;

  /**
   * Whether its executors, which go on from the log unasked, work beside their
   * questions: then a start of the server also opens those of its tasks that
   * wait for an answer. Default false.
   */
  readonly worksWhileAsking?: boolean | undefined;

  /**
   * Runs the checks of goals, for tasks of this agent and of those without such
   * checks. Default: it runs none.
   */
  readonly checks?: GoalChecks | undefined;

  /**
   * Removes what the agent keeps of a task outside of the store. Called before
   * the store deletes a task that has ended, whichever agent had it; agents that
   * have the same function keep the same. When it rejects, nothing is deleted.
   * Default: the agent keeps nothing.
   */
  readonly forget?: ((taskId: string) => Promise<void>) | undefined;

  /**
   * Creates the executor of one task: a new task, or one that an earlier run of
   * the server left. Called again for a task that the server closed while it
   * was idle. Must not throw.
   */
  createExecutor(task: Task): AgentExecutor;

  /**
   * Checks the values of settings that the agent follows (`Agent.follows`):
   * those that a request has, the others are empty.
   *
   * Throws a `DevtoolError` for what the agent cannot follow: the request is
   * refused, and nothing is stored. Default: all values are accepted.
   *
   * @param conversation the conversation of the request; its `contextId` is
   * empty for a new one
   */
  checkSettings?(
    settings: SessionSettings,
    conversation: ConversationKey,
  ): void;

  /**
   * Checks settings that only the running agent can judge, which may start it.
   * They are those of a request to a conversation, new or not.
   *
   * Rejects with a `DevtoolError` for what the agent cannot follow: the request
   * is refused, and nothing is stored. Default: all values are accepted. The
   * signal aborts after 45 seconds.
   */
  checkCapabilities?(
    settings: SessionSettings,
    place: CommandContext,
    signal: AbortSignal,
  ): Promise<void>;

  /**
   * Lists the tools and MCP servers that a task can use now, for clients that
   * request the list (Gemini CLI's dialect). Default: none. When it throws a
   * `DevtoolError`, clients get an empty list.
   */
  offers?(task: Task, signal: AbortSignal): Promise<AgentOffers>;

  /**
   * What the agent says about the workspaces of its tasks. Default: nothing.
   */
  readonly workspace?: AgentWorkspace | undefined;

  /**
   * Lists the models that sessions can choose (`SessionSettings.model`).
   * Clients see the first 1,000. Default: none are known.
   *
   * Throws a `DevtoolError` when they cannot be listed. The signal aborts when
   * the client leaves, and after 45 seconds.
   */
  models?(signal: AbortSignal): Promise<readonly OfferedModel[]>;
}

/**
 * The slash commands of an agent.
 *
 * Each execution of a command is a task of its own: its executor finds the
 * command in `Task.command`.
 */
export interface AgentCommands {
  /** Lists the commands that a principal can run in a workspace (CMD-1). */
  list(
    place: CommandPlace,
    signal: AbortSignal,
  ): Promise<readonly SlashCommandDeclaration[]>;

  /**
   * Checks whether a command can start (CMD-2). Returns the reason for the user
   * when it cannot, undefined when it can. Called before the command has a
   * task; a command that cannot start gets none.
   */
  check(
    request: ExecuteSlashCommandRequest,
    context: CommandContext,
    signal: AbortSignal,
  ): Promise<string | undefined>;
}

/** The principal and the workspace that an agent is asked about. */
export interface CommandPlace {
  /**
   * The absolute path of the workspace; empty for none, which lists the
   * commands that need none.
   */
  readonly workspacePath: string;

  /** The authenticated caller. */
  readonly principal: string;

  /** The roles of the caller. Default: none. */
  readonly roles?: readonly string[] | undefined;

  /**
   * The settings of the conversation; undefined outside of one. They have the
   * secrets of its MCP servers.
   */
  readonly sessionSettings?: SessionSettings | undefined;
}

/** The context in which a command runs. */
export interface CommandContext extends CommandPlace {
  /** The id of the conversation; empty for a new one. */
  readonly contextId: string;
}

/** The services of a server for the agents that it opens. */
export interface AgentServices {
  /**
   * The workspace of clients that name none: its real path when the server
   * started. Undefined when clients must name one.
   */
  readonly workspace: string | undefined;

  /**
   * The directories that may contain workspaces; empty when `workspace` is the
   * only one.
   */
  readonly workspaceRoots: readonly string[];

  /**
   * The directory for files of the agent, shared with the server's own files.
   * Undefined when the server keeps its tasks in memory.
   */
  readonly dataDirectory: string | undefined;

  /**
   * The approvals that the operator gave for good, which all servers of a
   * shared store have. Undefined when the agent keeps them in the data
   * directory.
   */
  readonly approvals: ApprovalStorage | undefined;

  /**
   * What agents elsewhere could not be told to cancel, which all servers of a
   * shared store have. Undefined when the agent keeps it in the data directory.
   */
  readonly untoldCancels: UntoldCancelStorage | undefined;

  /**
   * Which MCP servers clients may add to their sessions: none, those at a URL,
   * or also those that are started as a command on this machine. The server has
   * refused others before a task reaches the agent.
   */
  readonly clientMcpServers: "none" | "http" | "all";

  /** The principal of the operator, who holds the server's token. */
  readonly operator: string;

  /** The conversations of the server, for work outside of a turn. */
  readonly conversations: AgentConversations;

  /**
   * Returns the ports that the server listens on now. An agent must not connect
   * to them.
   */
  readonly ownPorts: () => readonly number[];

  /**
   * Whether only programs on this machine reach the server: it listens on
   * loopback, has no public URL and no further host names, and shares its tasks
   * with no other server.
   */
  readonly isLocal: boolean;

  /** Whether the credentials of some callers name roles. */
  readonly hasRoles: boolean;

  /** The agents of the server, for an agent that gives work to others. */
  readonly agents: AgentDirectory;

  /** Returns the current time, on the clock that the server's tasks have. */
  readonly now: () => Date;

  /** Returns a new unique id. */
  readonly nextId: () => string;

  /**
   * Reports a message to the operator, such as that an MCP server is missing.
   * It may contain text from outside.
   */
  readonly onNotice: (text: string) => void;
}

/** An agent elsewhere that was found, and how it is called. */
export interface CallableAgent
  extends Pick<FoundAgent, "name" | "url" | "description" | "registeredBy"> {
  readonly token?: string | undefined;
  readonly keys?: JSONWebKeySet | undefined;
  /** Reaches public addresses alone, and those that the operator permits. */
  readonly fetch: typeof globalThis.fetch;
}

/** The agents of a server, as one of them can call the others. */
export interface AgentDirectory {
  /** The URL at which clients reach the server, without a trailing slash. */
  readonly serverUrl: string;

  /** The agents, the default one first. A single agent has no name. */
  readonly listed: readonly MessageInitShape<typeof ListedAgentSchema>[];

  /**
   * Returns the agents elsewhere that are registered now, or in catalogs of other
   * servers, which are fetched at most once in five minutes.
   */
  readonly found: () => Promise<readonly CallableAgent[]>;

  /**
   * Returns a transport of Connect to the server's services, for the caller of
   * a task: with what its roles permit, and with the right to answer questions,
   * since whoever answered had it.
   *
   * The header `devtool-new-task-id` of a message sets the id of the task that
   * it creates; the server refuses an id that is taken.
   *
   * Rejects with `Code.PermissionDenied` when the caller may not run agents any
   * more.
   */
  transportFor(task: Task): Promise<Transport>;
}

/**
 * Identifies a conversation: clients choose context ids, so those of different
 * principals may be equal.
 */
export interface ConversationKey {
  /** The A2A context, which the tasks of the conversation share. */
  readonly contextId: string;

  /** The authenticated caller that the tasks belong to. */
  readonly principal: string;
}

/** Access to the conversations of a server outside of a turn. */
export interface AgentConversations {
  /**
   * Finds the latest task of a conversation that was created by a message, not
   * by a slash command. Undefined when there is none among the 50 that changed
   * last, and for a new conversation, whose `contextId` is empty.
   *
   * @param content which messages have their content: the old ones of a long
   * task are read for `"all"` alone. Default: `"all"`
   */
  find(
    conversation: ConversationKey,
    content?: "recent" | "all",
  ): Promise<Task | undefined>;

  /**
   * Yields the tasks of a conversation as they are stored, the one that changed
   * last first. None for a new conversation.
   *
   * @param content which messages have their content: the old ones of long tasks
   * are read for `"all"` alone
   */
  tasks(
    conversation: ConversationKey,
    content: "recent" | "all",
    signal: AbortSignal,
  ): AsyncIterable<Task>;

  /**
   * Replaces the older history of a task with a summary.
   *
   * `make` receives the task; its history begins with that of the tasks which
   * it continues. It returns undefined when a summary would not be shorter. The
   * tokens of its model count for the turn that asks (`Turn.beginStep`).
   * Returns the recorded summary, or undefined when `make` gave none or the task
   * changed meanwhile. Throws `Code.FailedPrecondition` while
   * the task is working, and `Code.Unavailable` when another server runs it.
   */
  summarize(
    taskId: string,
    make: (task: Task) => Promise<Summary | undefined>,
  ): Promise<Summary | undefined>;

  /**
   * Returns what each model used in a conversation, and in the tasks in which
   * other agents of the server did some of its work: tokens of input and output,
   * and what they cost in the currency of `budget.prices`. The cost is undefined
   * for a model without a price.
   */
  spending(
    conversation: ConversationKey,
    signal: AbortSignal,
  ): Promise<
    readonly {
      readonly model: string;
      readonly tokens: number;
      readonly cost: number | undefined;
    }[]
  >;
}
