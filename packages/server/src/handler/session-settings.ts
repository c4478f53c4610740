import { isDeepStrictEqual } from "node:util";
import { create, equals } from "@bufbuild/protobuf";
import { directoryAt, realPath } from "@devtool/internal/real-path";
import {
  AgentSettingsSchema,
  ApprovalMode,
  type ConversationFork,
  type McpServer,
  McpServerSchema,
  type SessionSettings,
  SessionSettingsSchema,
  stricterMode,
  type TaskCreated,
  type TaskEvent,
  type TurnSettings,
} from "@devtool/schema";
import type { CommandContext, ConversationKey } from "../agent/agent.ts";
import { type DevtoolError, invalid, quoted } from "../errors.ts";
import type { TaskStore } from "../store/task-store.ts";
import { addedServers } from "../task/added-servers.ts";
import { keptLimit } from "../task/kept-limit.ts";
import { readTask } from "../task/read-task.ts";
import { assertKnownValue, assertName, assertNames } from "./name-limit.ts";
import {
  resolveWorkspace,
  type WorkspaceOptions,
} from "./session-workspace.ts";

/** What one message chooses, for its turn and for its session. */
export interface MessageChoices {
  readonly turn?: TurnSettings | undefined;
  /** The conversation that it goes on with. */
  readonly fork?: ConversationFork | undefined;
  /** The MCP servers that it adds to its session. */
  readonly added?: readonly McpServer[];
}

/** What the agents of a server say about the settings of sessions. */
export interface AgentChecks {
  /**
   * Returns the name of the agent to record for a session that requests one; an
   * empty name requests none. Throws `Code.InvalidArgument` for an unknown one.
   */
  resolve(name: string): string;

  /**
   * Throws a `DevtoolError` for settings that the agent, which is in them, does
   * not follow.
   */
  assertFollowed(
    settings: SessionSettings,
    ofMessage: MessageChoices,
    conversation: ConversationKey,
  ): void;

  /**
   * Returns the name of the agent that runs the checks of goals for an agent;
   * undefined where none does. An empty name stands for the default agent.
   */
  checkerOf(agent: string): string | undefined;

  /**
   * Rejects with a `DevtoolError` for settings that the agent, which is in
   * them, cannot follow when it runs.
   */
  assertCapable(
    settings: SessionSettings,
    place: CommandContext,
  ): Promise<void>;

  /**
   * Returns the operator's approval mode for an agent; unspecified for one that
   * has no such modes.
   *
   * @param agent the name that the session has
   */
  operatorModeOf(agent: string): ApprovalMode;
}

/** The values that a server permits in the settings of sessions. */
export interface SessionOptions extends WorkspaceOptions {
  /** Which MCP servers clients may add. */
  readonly clientMcpServers: "none" | "http" | "all";
  readonly agents: AgentChecks;
}

/** What decides which changes of a session a request may ask for. */
export type ChangeOptions = Pick<SessionOptions, "agents" | "clientMcpServers">;

/**
 * The settings of a session: of the first task of a context, and shared by all
 * of its tasks.
 */
export type Settings = Pick<TaskCreated, "settings" | "sessionSettings">;

/** The state that the tasks of a context share. */
export interface Session {
  readonly settings: Settings;
  /** The widest approval mode of its tasks; unspecified for none. */
  readonly approvalLimit: ApprovalMode;
  /**
   * Whether the client of the conversation has activated the development-tool
   * extension (CARD-3).
   */
  readonly extensionActive: boolean;
  /**
   * The id under which the agent keeps the conversation itself; empty for none.
   */
  readonly agentSessionId: string;
  /** The conversation that its latest task goes on with, if that is a fork. */
  readonly fork?: ConversationFork | undefined;
}

/**
 * Finds the session of a context by its latest task. Undefined when the
 * principal has no task there.
 */
export async function findSession(
  store: TaskStore,
  contextId: string,
  principal: string,
): Promise<Session | undefined> {
  const latest = await store.findLatest(principal, contextId);
  if (!latest) return undefined;
  const { extensionActive, agentSessionId, approvalMode } = latest;
  const whole = latest.mcpServersAdded
    ? await readTask(store, latest.taskId, "none")
    : undefined;
  for await (const { payload } of store.readEvents(latest.taskId, 0n)) {
    if (payload.case !== "created") return undefined;
    const { settings, sessionSettings, sessionModel, approvalLimit, message } =
      payload.value;
    // A slash command may have another model than its session. The options that
    // earlier messages set are the agent's own to keep.
    const shared = sessionSettings && {
      ...sessionSettings,
      agentOptions: {},
      mcpServers:
        whole?.sessionSettings?.mcpServers ?? sessionSettings.mcpServers,
      model: sessionModel ?? sessionSettings.model,
    };
    return {
      settings: withApprovalMode(
        { settings, sessionSettings: shared },
        approvalMode,
      ),
      approvalLimit,
      extensionActive,
      agentSessionId,
      fork: message?.fork,
    };
  }
  return undefined;
}

/**
 * Returns the settings of a slash command in a session: those of the session,
 * with the model that its request chooses for it alone (SESSION-4).
 */
export function commandSettings(
  session: Settings,
  requested: Settings,
): Pick<TaskCreated, "settings" | "sessionSettings" | "sessionModel"> {
  const model = requested.sessionSettings?.model ?? "";
  assertName("model", model);
  const { settings, sessionSettings = create(SessionSettingsSchema) } = session;
  if (model === "" || model === sessionSettings.model) return session;
  return {
    settings,
    sessionSettings: { ...sessionSettings, model },
    sessionModel: sessionSettings.model,
  };
}

/**
 * Returns the settings of a new task: those of its context when that has tasks
 * already, with the requested approval mode and MCP servers (SESSION-4), otherwise
 * the requested ones with the workspace and the agent resolved (SESSION-1).
 *
 * Throws `Code.InvalidArgument` for settings that are not permitted, and for
 * settings that differ from those of the context and cannot change (SESSION-2).
 */
export function resolveSettings(
  requested: Settings,
  earlier: Settings | undefined,
  conversation: ConversationKey,
  options: SessionOptions,
): Settings {
  const { sessionSettings: chosen } = earlier ?? requested;
  const forbidden = chosen && forbiddenServer(chosen, options.clientMcpServers);
  if (forbidden) throw forbidden;
  if (earlier) {
    const { approvalMode, added } = sessionChanges(
      requested,
      earlier,
      conversation,
      options,
    );
    const { settings, sessionSettings } = withApprovalMode(
      earlier,
      approvalMode ?? ApprovalMode.UNSPECIFIED,
    );
    const agentOptions = {
      ...sessionSettings?.agentOptions,
      ...requested.sessionSettings?.agentOptions,
    };
    const hasOptions = Object.keys(agentOptions).length > 0;
    if (!hasOptions && added.length === 0) return { settings, sessionSettings };
    const kept = sessionSettings ?? create(SessionSettingsSchema);
    return {
      settings,
      sessionSettings: {
        ...kept,
        agentOptions,
        mcpServers: [...kept.mcpServers, ...added],
      },
    };
  }
  const workspacePath = resolveWorkspace(
    requested.settings?.workspacePath,
    options,
  );
  const sessionSettings =
    requested.sessionSettings ?? create(SessionSettingsSchema);
  assertName("model", sessionSettings.model);
  assertKnownMode(sessionSettings);
  addedServers(sessionSettings.mcpServers, {});
  const agent = options.agents.resolve(sessionSettings.agent);
  const resolved = { ...sessionSettings, agent };
  assertNames("agent_options", Object.entries(resolved.agentOptions).flat());
  assertNames("allowed_tools", resolved.allowedTools);
  options.agents.assertFollowed(resolved, {}, conversation);
  return {
    settings: create(AgentSettingsSchema, { workspacePath }),
    sessionSettings: resolved,
  };
}

/**
 * Returns the widest approval mode of a new task: that of its conversation,
 * which a server whose operator allows more does not widen.
 */
export function approvalLimitOf(
  { sessionSettings }: Settings,
  session: Session | undefined,
  { agents }: Pick<SessionOptions, "agents">,
): ApprovalMode {
  const mode = agents.operatorModeOf(sessionSettings?.agent ?? "");
  const limit = session && keptLimit(session.approvalLimit, mode);
  return mode === ApprovalMode.UNSPECIFIED
    ? (limit ?? mode)
    : stricterMode(mode, limit ?? mode);
}

/**
 * Returns the error for an MCP server that clients may not add, or may not any
 * more. One with a stdio transport would start a command on this machine.
 */
export function forbiddenServer(
  { mcpServers }: Pick<SessionSettings, "mcpServers">,
  allowed: SessionOptions["clientMcpServers"],
): DevtoolError | undefined {
  const aimed = mcpServers.find(
    ({ principals, roles }) => principals.length + roles.length > 0,
  );
  if (aimed) {
    const problem = "names principals or roles, which only the operator may";
    return invalid("mcp_servers", aimed.name, problem, "leave them out");
  }
  const forbidden = mcpServers.find(
    ({ transport }) =>
      allowed === "none" || (allowed === "http" && transport.case === "stdio"),
  );
  if (!forbidden) return undefined;
  const problem =
    allowed === "none"
      ? "clients may not add MCP servers"
      : "clients may not add servers that run a command";
  return invalid(
    "mcp_servers",
    forbidden.name,
    `is not allowed, since ${problem}`,
    "leave it out, or have the operator set client_mcp_servers",
  );
}

/** What a request changes in its session (SESSION-4). */
interface SessionChanges {
  /** Undefined when it stays. */
  readonly approvalMode: ApprovalMode | undefined;
  /** The MCP servers that the session did not have. */
  readonly added: McpServer[];
}

/**
 * Returns what a request changes in its session (SESSION-4).
 *
 * Throws a `DevtoolError` for settings that the agent of the session does not
 * follow, for MCP servers that cannot be added, and `Code.InvalidArgument` for
 * others that differ from those of the session (SESSION-2).
 */
export function sessionChanges(
  requested: Settings,
  earlier: Settings,
  conversation: ConversationKey,
  options: ChangeOptions,
): SessionChanges {
  assertUnchanged(requested, earlier, options);
  if (!requested.sessionSettings) return { approvalMode: undefined, added: [] };
  assertKnownMode(requested.sessionSettings);
  const { approvalMode: wanted, ...asked } = requested.sessionSettings;
  const current = earlier.sessionSettings ?? create(SessionSettingsSchema);
  const isChanged = wanted !== current.approvalMode;
  const approvalMode = isChanged ? wanted : ApprovalMode.UNSPECIFIED;
  const { agent } = current;
  assertNames("agent_options", Object.entries(asked.agentOptions).flat());
  const added = addedServers(asked.mcpServers, earlier);
  const forbidden = forbiddenServer(
    { mcpServers: added },
    options.clientMcpServers,
  );
  if (forbidden) throw forbidden;
  options.agents.assertFollowed(
    { ...asked, approvalMode, agent },
    { added },
    conversation,
  );
  return { approvalMode: approvalMode || undefined, added };
}

function assertKnownMode({ approvalMode }: SessionSettings): void {
  assertKnownValue(
    "session_settings.approval_mode",
    approvalMode,
    ApprovalMode,
  );
}

function withApprovalMode(
  { settings, sessionSettings }: Settings,
  approvalMode: ApprovalMode,
): Settings {
  if (approvalMode === ApprovalMode.UNSPECIFIED) {
    return { settings, sessionSettings };
  }
  return {
    settings,
    sessionSettings: {
      ...(sessionSettings ?? create(SessionSettingsSchema)),
      approvalMode,
    },
  };
}

/**
 * Throws `Code.InvalidArgument` for a copy of a message that names settings
 * which its first one did not have: a retry starts nothing, so they would be
 * ignored (STREAM-7).
 *
 * @param recorded the event that recorded the message
 */
export function assertSameSettings(
  requested: Settings,
  { payload, approvalMode }: TaskEvent,
  task: Settings,
  options: Pick<SessionOptions, "agents">,
): void {
  assertUnchanged(requested, task, options);
  const asked = requested.sessionSettings;
  if (!asked) return;
  const mode =
    payload.case === "messageQueued"
      ? payload.value.approvalMode
      : approvalMode;
  // A later message has its model, its options and its servers in itself.
  const { message, sessionSettings: first } =
    payload.case === "created" ? payload.value : {};
  const queued =
    payload.case === "messageQueued" ? payload.value.message : undefined;
  const brought = queued?.mcpServers ?? [];
  const models = ["", message?.model ?? asked.model, first?.model];
  const isSame =
    (asked.approvalMode || mode) === mode &&
    models.includes(asked.model) &&
    addedServers(asked.mcpServers, task).every((server) =>
      brought.some((own) => equals(McpServerSchema, own, server)),
    ) &&
    Object.entries(first ? asked.agentOptions : {}).every(
      ([id, value]) => first?.agentOptions[id] === value,
    );
  if (isSame) return;
  throw invalid(
    "session_settings",
    "",
    "differ from those with which this message was sent first",
    "choose another message id",
  );
}

/**
 * Throws `Code.InvalidArgument` when a request names settings that differ from
 * those of its session and cannot change (SESSION-2).
 */
function assertUnchanged(
  requested: Settings,
  earlier: Settings,
  { agents }: Pick<SessionOptions, "agents">,
): void {
  const path = requested.settings?.workspacePath ?? "";
  const current = earlier.settings?.workspacePath ?? "";
  if (path !== "" && directoryAt(realPath(path)) !== current) {
    const problem = `this session works in ${JSON.stringify(current)}`;
    throw invalid(
      "workspace_path",
      path,
      problem,
      "start a new context to change it",
    );
  }
  const agent = requested.sessionSettings?.agent ?? "";
  const kept = earlier.sessionSettings?.agent || agents.resolve("");
  if (agent !== "" && agents.resolve(agent) !== kept) {
    const problem = `is not the agent of this session, which is ${quoted(kept)}`;
    throw invalid(
      "session_settings.agent",
      agent,
      problem,
      "start a new context for another",
    );
  }
  const named = requested.sessionSettings;
  if (!named) return;
  // All else may change with every message. An empty list stands for that of the
  // session.
  const { allowedTools = [] } = earlier.sessionSettings ?? {};
  const isSame = isDeepStrictEqual(named.allowedTools, allowedTools);
  if (named.allowedTools.length === 0 || isSame) return;
  throw invalid(
    "session_settings",
    "",
    "differ from those of this session",
    "start a new context to change them",
  );
}
