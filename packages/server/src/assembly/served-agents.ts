import { createHash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ApprovalMode,
  ApprovalPolicy,
  type ListedAgentSchema,
  SandboxPolicy,
  type SessionSettings,
  type Task,
  type TurnSettings,
} from "@devtool/schema";
import {
  type About,
  type Agent,
  type AgentCommands,
  type AgentServices,
  CLIENT_SETTINGS,
  type ClientSetting,
  type CommandContext,
  type ConversationKey,
  type OpenAgent,
} from "../agent/agent.ts";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import type { AgentOffers, OfferedModel } from "../agent/agent-offers.ts";
import type { GoalChecks } from "../agent/goal-checks.ts";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import {
  forbiddenServer,
  type MessageChoices,
} from "../handler/session-settings.ts";
import type { ServerOptions } from "../server-options.ts";
import { VERSION } from "../version.ts";
import { goalExecutor, withGoalCommand } from "./goal-command.ts";

/** The maximum time in milliseconds in which an agent checks settings. */
const CAPABILITIES_TIMEOUT_MS = 45_000;

/**
 * The agents of a server by name. Each task has one of them; they are opened
 * and closed with the server.
 */
export class ServedAgents implements AsyncDisposable {
  /** The agent of clients that choose none. */
  readonly default: Agent;
  /** The name of the agent of tasks that name none. */
  readonly defaultName: string;
  readonly #agents: ReadonlyMap<string, Agent>;
  /** The names of all agents. */
  readonly names: readonly string[];
  /** The same, for error messages. */
  readonly #names: string;
  readonly #opened = new Map<string, OpenAgent>();
  #clientMcpServers: AgentServices["clientMcpServers"] = "none";
  #services: AgentServices | undefined;

  /**
   * Throws `Code.InvalidArgument` when there is no agent, a name is invalid, or
   * the default agent is missing.
   */
  constructor({
    agents,
    defaultAgent,
  }: Pick<ServerOptions, "agents" | "defaultAgent">) {
    this.#agents = new Map(Object.entries(agents));
    this.names = [...this.#agents.keys()];
    this.#names = this.names.join(", ");
    const [first = ""] = this.#agents.keys();
    this.defaultName = defaultAgent ?? first;
    const found = this.#agents.get(this.defaultName);
    const wrong = [...this.#agents.keys()].find(
      (name) => !/^[\w-]+$/.test(name),
    );
    if (wrong !== undefined) {
      throw invalid(
        "agents",
        wrong,
        "is not a name",
        "use letters, digits, - and _",
      );
    }
    if (!found) {
      const remedy = `choose ${this.#names || "one"}`;
      throw invalid(
        "default_agent",
        this.defaultName,
        "is not one of the agents",
        remedy,
      );
    }
    this.default = found;
  }

  /**
   * Opens all agents. When one of them throws, closes those that are open and
   * throws the error.
   */
  async open(services: AgentServices): Promise<void> {
    this.#services = services;
    this.#clientMcpServers = services.clientMcpServers;
    try {
      for (const [name, agent] of this.#agents) {
        this.#opened.set(name, await agent.open(services));
      }
    } catch (reason) {
      await this[Symbol.asyncDispose]();
      throw reason;
    }
  }

  /**
   * Creates the executor of a task. When its agent is no longer served, does not
   * follow the settings of the session, or clients may no longer add its MCP
   * servers, the executor fails each turn.
   */
  createExecutor(task: Task): AgentExecutor {
    const isGoal = task.command?.commandPath[0] === "goal";
    if (this.#services && isGoal && this.checksOf(task)) {
      return goalExecutor(this.#services);
    }
    const found = this.#find(task);
    return found instanceof DevtoolError
      ? failingExecutor(found)
      : found.createExecutor(task);
  }

  /** Returns the agent of a task, or why it has none here. */
  #find({ sessionSettings }: Task): OpenAgent | DevtoolError {
    const name = sessionSettings?.agent || this.defaultName;
    const agent = this.#opened.get(name);
    if (!agent) {
      const problem = `agent ${quoted(name)} is not served here`;
      const remedy = `choose ${this.#names}`;
      return new DevtoolError(problem, Code.NotFound, { remedy });
    }
    // Another agent may have had the name when the session began, and the
    // operator may have allowed more.
    return (
      (sessionSettings &&
        (this.#findIgnored(sessionSettings) ??
          forbiddenServer(sessionSettings, this.#clientMcpServers))) ||
      agent
    );
  }

  /**
   * Returns what the events of a task have as their model where its agent names
   * none: the agent's own default, or else the agent's display name.
   */
  modelNameOf(task: Task): string {
    const name = task.sessionSettings?.agent || this.defaultName;
    const { model, about } = this.#agents.get(name) ?? {};
    return model || about?.name || "";
  }

  /**
   * Lists the tools and MCP servers of a task; none when its agent lists none
   * or is no longer served.
   *
   * @param task has the secrets of its MCP servers, which clients never see
   */
  async offersOf(task: Task, signal: AbortSignal): Promise<AgentOffers> {
    const none = { tools: [], mcpServers: [] };
    try {
      return (await this.agentOf(task)?.offers?.(task, signal)) ?? none;
    } catch (reason) {
      // For instance, the workspace was removed. The client still gets the rest
      // of the task.
      if (reason instanceof DevtoolError) return none;
      throw reason;
    }
  }

  /** Removes what agents keep of a task outside of the store. */
  async forget(taskId: string): Promise<void> {
    const all = [...this.#opened.values()].map(({ forget }) => forget);
    for (const forget of new Set(all)) await forget?.(taskId);
  }

  /** The names of the agents that work beside their questions. */
  get workingWhileAsking(): readonly string[] {
    return [...this.#opened]
      .filter(([, agent]) => agent.worksWhileAsking)
      .map(([name]) => name);
  }

  /** Whether an agent may ask where users answer outside of the protocol. */
  get asksElsewhere(): boolean {
    return [...this.#opened.values()].some((agent) => agent.asksElsewhere);
  }

  /**
   * Returns the name of the agent that runs the checks of goals for tasks of an
   * agent: itself, or else another one; undefined where none can. An empty name
   * stands for the default agent.
   */
  checkerOf(name: string): string | undefined {
    const own = name || this.defaultName;
    return [own, ...this.#opened.keys()].find(
      (each) => this.#opened.get(each)?.checks,
    );
  }

  /** Returns what runs the checks of a task's goals; undefined for nothing. */
  checksOf({ sessionSettings }: Task): GoalChecks | undefined {
    const checker = this.checkerOf(sessionSettings?.agent ?? "");
    return checker === undefined
      ? undefined
      : this.#opened.get(checker)?.checks;
  }

  /** Returns the agent of a task; undefined when each turn of it would fail. */
  agentOf(task: Task): OpenAgent | undefined {
    const found = this.#find(task);
    return found instanceof DevtoolError ? undefined : found;
  }

  /**
   * Lists the models of an agent; an empty name stands for the default agent.
   * None when it does not know any.
   *
   * Throws `Code.InvalidArgument` for an unknown name.
   */
  async modelsOf(
    name: string,
    signal: AbortSignal,
  ): Promise<readonly OfferedModel[]> {
    return (await this.#opened.get(this.resolve(name))?.models?.(signal)) ?? [];
  }

  /**
   * Returns the slash commands of an agent; an empty name stands for the
   * default agent.
   */
  commandsOf(name: string): AgentCommands {
    const commands =
      this.#opened.get(name || this.defaultName)?.commands ?? NO_COMMANDS;
    // Without checks there are no goals.
    return this.checkerOf(name) === undefined
      ? commands
      : withGoalCommand(commands);
  }

  /**
   * Returns the name to record in a session that requests an agent; an empty
   * name stands for the default agent. Throws `Code.InvalidArgument` for an
   * unknown name.
   */
  resolve(name: string): string {
    if (name === "") return this.defaultName;
    if (this.#agents.has(name)) return name;
    throw invalid(
      "session_settings.agent",
      name,
      "is not served here",
      `choose ${this.#names}`,
    );
  }

  /**
   * Returns the operator's approval mode for an agent; unspecified for one that
   * has no such modes.
   */
  operatorModeOf(name: string): ApprovalMode {
    const opened = this.#opened.get(name || this.defaultName);
    return opened?.approvals?.approvalMode ?? ApprovalMode.UNSPECIFIED;
  }

  /**
   * A digest of what decides how far the agents go without asking: two servers
   * with the same one decide alike.
   */
  get approvalDigest(): string {
    const bases = [...this.#opened].map(([name, { approvals }]) => [
      name,
      approvals?.approvalMode,
      approvals?.rules,
    ]);
    return createHash("sha256")
      .update(JSON.stringify([VERSION, ...bases.toSorted()]))
      .digest("base64url");
  }

  /**
   * Throws a `DevtoolError` for settings that their agent does not follow, and
   * for values that it refuses. Whatever a client sends, this decides.
   *
   * @param settings those of a request; `agent` is as `resolve` returned it
   */
  assertFollowed(
    settings: SessionSettings,
    ofMessage: MessageChoices,
    conversation: ConversationKey,
  ): void {
    const ignored = this.#findIgnored(settings, ofMessage);
    if (ignored) throw ignored;
    const name = settings.agent || this.defaultName;
    this.#opened.get(name)?.checkSettings?.(settings, conversation);
  }

  /**
   * Rejects with a `DevtoolError` for settings that their agent, when it runs,
   * cannot follow.
   */
  async assertCapable(
    settings: SessionSettings,
    place: CommandContext,
  ): Promise<void> {
    const name = settings.agent || this.defaultName;
    const signal = AbortSignal.timeout(CAPABILITIES_TIMEOUT_MS);
    await this.#opened.get(name)?.checkCapabilities?.(settings, place, signal);
  }

  /** Returns the error for the first setting that its agent does not follow. */
  #findIgnored(
    settings: SessionSettings,
    ofMessage: MessageChoices = {},
  ): DevtoolError | undefined {
    const name = settings.agent || this.defaultName;
    const { follows: followed = [], model } = this.#agents.get(name) ?? {};
    const ignored = chosenSettings(settings, ofMessage, model).find(
      (chosen) => !followed.includes(chosen.setting),
    );
    if (!ignored) return undefined;
    const { setting, value } = ignored;
    const others = [...this.#agents].flatMap(([other, { follows }]) =>
      follows?.includes(setting) === true ? [other] : [],
    );
    const alternative =
      others.length === 0 ? "" : `, or choose agent ${others.join(", ")}`;
    return invalid(
      FIELDS[setting] ?? setting,
      value,
      setting === "added_mcp_servers"
        ? `cannot be added: agent ${quoted(name)} takes MCP servers with the first message of a session only`
        : `cannot be used: agent ${quoted(name)} does not follow it`,
      `leave it out${alternative}`,
    );
  }

  /**
   * The description of each agent by name, when clients can choose; empty when
   * there is one agent.
   */
  get choices(): ReadonlyMap<string, DescribedAgent> {
    if (this.#agents.size < 2) return new Map();
    return new Map(
      [...this.#agents].map(([name, agent]) => [name, describe(agent)]),
    );
  }

  /** The description of the default agent. */
  get described(): DescribedAgent {
    return describe(this.default);
  }

  /**
   * All agents for clients that choose one, the default one first. A single
   * agent has no name.
   */
  get listed(): readonly MessageInitShape<typeof ListedAgentSchema>[] {
    const others = [...this.#agents].filter(
      ([name]) => name !== this.defaultName,
    );
    return [[this.defaultName, this.default] as const, ...others].map(
      ([name, { about, model = "", follows = [] }]) => ({
        name: this.#agents.size > 1 ? name : "",
        displayName: about.name,
        description: about.description,
        model,
        inputModes: [...(about.inputModes ?? [])],
        follows: { settings: [...follows] },
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(
      [...this.#opened.values()].map((agent) => agent[Symbol.asyncDispose]?.()),
    );
    this.#opened.clear();
  }
}

/** What an agent card says about an agent. */
export type DescribedAgent = About & Pick<Agent, "follows">;

function describe({ about, follows }: Agent): DescribedAgent {
  return { ...about, follows };
}

/** Creates an executor that fails each turn. */
function failingExecutor(reason: unknown): AgentExecutor {
  return {
    // biome-ignore lint/correctness/useYield: the turn fails before it has an event.
    async *execute() {
      throw reason;
    },
  };
}

/** A setting that a request has, and its value for an error. */
interface ChosenSetting {
  readonly setting: ClientSetting;
  readonly value: string;
}

/** The fields of settings that errors name by more than their name. */
const FIELDS: Readonly<Partial<Record<ClientSetting, string>>> = {
  approval_mode: "session_settings.approval_mode",
  agent_options: "session_settings.agent_options",
  added_mcp_servers: "mcp_servers",
  turn: "message_settings.turn",
  workflow_fork: "message_settings.turn.workflow_fork",
  fork: "message_settings.fork",
  fork_before_message: "message_settings.fork.before_message_id",
};

/**
 * Returns the settings that ask something of an agent. The mode of the operator
 * and the agent's own model do not.
 */
function chosenSettings(
  settings: SessionSettings,
  { turn, fork, added = [] }: MessageChoices,
  ownModel = "",
): readonly ChosenSetting[] {
  const { allowedTools, approvalMode, model, mcpServers } = settings;
  const isNarrowed =
    approvalMode !== ApprovalMode.UNSPECIFIED &&
    approvalMode !== ApprovalMode.YOLO;
  const mode = ApprovalMode[approvalMode] ?? String(approvalMode);
  const servers = mcpServers.map(({ name }) => name);
  const options = Object.keys(settings.agentOptions);
  const found: Record<ClientSetting, readonly string[]> = {
    allowed_tools: allowedTools,
    approval_mode: isNarrowed ? [mode] : [],
    model: model === "" || model === ownModel ? [] : [model],
    mcp_servers: servers,
    added_mcp_servers: added.map(({ name }) => name),
    agent_options: options,
    turn: isForAgent(turn) ? [""] : [],
    workflow_fork: turn?.workflowFork ? [turn.workflowFork.taskId] : [],
    fork: fork ? [fork.taskId] : [],
    fork_before_message: [fork?.beforeMessageId || []].flat(),
  };
  return CLIENT_SETTINGS.flatMap((setting) =>
    found[setting].length === 0
      ? []
      : [{ setting, value: found[setting].join(", ") }],
  );
}

/** Whether settings of a turn have more than what the server itself follows. */
function isForAgent(turn: TurnSettings | undefined): boolean {
  if (!turn) return false;
  const { budget, workingDirectory, approvalPolicy, sandboxPolicy } = turn;
  return (
    (budget === undefined && turn.workflowFork === undefined) ||
    workingDirectory !== "" ||
    approvalPolicy !== ApprovalPolicy.UNSPECIFIED ||
    sandboxPolicy !== SandboxPolicy.UNSPECIFIED
  );
}

const NO_COMMANDS: AgentCommands = {
  list: () => Promise.resolve([]),
  check: ({ commandPath }) =>
    Promise.resolve(
      `/${commandPath.join(" ")} does not exist: this agent has no commands`,
    ),
};
