import { createHash } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ApprovalMode,
  type ListedAgentSchema,
  type SessionSettings,
  type Task,
  type TurnSettings,
} from "@devtool/schema";
import type {
  About,
  Agent,
  AgentCommands,
  AgentServices,
  ConversationKey,
  OpenAgent,
} from "../agent/agent.ts";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import type { AgentOffers, OfferedModel } from "../agent/agent-offers.ts";
import type { ApprovalBasis } from "../agent/permission.ts";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import type { ServerOptions } from "../server-options.ts";
import { VERSION } from "../version.ts";

/**
 * The agents of a server by name. Each task has one of them; they are opened
 * and closed with the server.
 */
export class ServedAgents implements AsyncDisposable {
  /** The agent of clients that choose none. */
  readonly default: Agent;
  readonly #defaultName: string;
  readonly #agents: ReadonlyMap<string, Agent>;
  /** The names of all agents, for error messages. */
  readonly #names: string;
  readonly #opened = new Map<string, OpenAgent>();

  /**
   * Throws `Code.InvalidArgument` when there is no agent, a name is invalid, or
   * the default agent is missing.
   */
  constructor({
    agents,
    defaultAgent,
  }: Pick<ServerOptions, "agents" | "defaultAgent">) {
    this.#agents = new Map(Object.entries(agents));
    this.#names = [...this.#agents.keys()].join(", ");
    const [first = ""] = this.#agents.keys();
    this.#defaultName = defaultAgent ?? first;
    const found = this.#agents.get(this.#defaultName);
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
        this.#defaultName,
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
   * Creates the executor of a task. When its agent is no longer served, the
   * executor fails each turn.
   */
  createExecutor(task: Task): AgentExecutor {
    const name = task.sessionSettings?.agent || this.#defaultName;
    const agent = this.#opened.get(name);
    if (agent) return agent.createExecutor(task);
    const remedy = `choose ${this.#names}`;
    const missing = new DevtoolError(
      `agent ${quoted(name)} is not served here`,
      Code.NotFound,
      { remedy },
    );
    return {
      // biome-ignore lint/correctness/useYield: the turn fails before it has an event.
      async *execute() {
        throw missing;
      },
    };
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

  /** Returns the agent of a task; undefined when it is no longer served. */
  agentOf(task: Task): OpenAgent | undefined {
    return this.#opened.get(task.sessionSettings?.agent || this.#defaultName);
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
    return (
      (await this.#opened
        .get(this.resolve(name) || this.#defaultName)
        ?.models?.(signal)) ?? []
    );
  }

  /**
   * Returns the slash commands of an agent; an empty name stands for the
   * default agent.
   */
  commandsOf(name: string): AgentCommands {
    return this.#opened.get(name || this.#defaultName)?.commands ?? NO_COMMANDS;
  }

  /**
   * Resolves the agent that a session requests; an empty name requests none.
   *
   * Returns the name to record in the session: empty when the server has only
   * one agent. Throws `Code.InvalidArgument` for an unknown name.
   */
  resolve(name: string): string {
    if (name === "") return this.#agents.size > 1 ? this.#defaultName : "";
    if (this.#agents.has(name)) return name;
    throw invalid(
      "session_settings.agent",
      name,
      "is not served here",
      `choose ${this.#names}`,
    );
  }

  /**
   * Throws `Code.InvalidArgument` when a session adds MCP servers and its agent
   * takes none.
   *
   * @param name the agent's name as `resolve` returned it
   * @param servers the names of the MCP servers
   */
  assertMcpServers(name: string, servers: readonly string[]): void {
    const agent = name || this.#defaultName;
    if (
      servers.length === 0 ||
      this.#agents.get(agent)?.takesMcpServers === true
    ) {
      return;
    }
    const takers = [...this.#agents].flatMap(([other, { takesMcpServers }]) =>
      takesMcpServers === true ? [other] : [],
    );
    const alternative =
      takers.length === 0 ? "" : `, or choose agent ${takers.join(", ")}`;
    const problem = `cannot be used, since agent ${quoted(agent)} accepts no MCP servers of clients`;
    throw invalid(
      "mcp_servers",
      servers.join(", "),
      problem,
      `leave them out${alternative}`,
    );
  }

  /**
   * Throws a `DevtoolError` when a message changes the settings of a session,
   * and its agent cannot work with them.
   *
   * @param settings the settings as they would be
   */
  assertChange(settings: SessionSettings): void {
    const name = settings.agent || this.#defaultName;
    const agent = this.#opened.get(name);
    if (agent?.checkSettings) {
      agent.checkSettings(settings);
      return;
    }
    // Such an agent keeps the approval mode of a session's first message.
    const mode =
      ApprovalMode[settings.approvalMode] ?? String(settings.approvalMode);
    const problem = `cannot change within a session of agent ${quoted(name)}`;
    throw invalid(
      "session_settings.approval_mode",
      mode,
      problem,
      "start a new context to change it",
    );
  }

  /**
   * Returns what decides how far an agent goes without asking. Undefined for
   * one that has no approval modes.
   */
  approvalsOf(name: string): ApprovalBasis | undefined {
    return this.#opened.get(name || this.#defaultName)?.approvals;
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
   * Throws a `DevtoolError` when a message sets options of its agent that the
   * agent does not have, or clients may not set.
   *
   * @param settings the settings of the session with these options
   */
  assertOptions(
    settings: SessionSettings,
    conversation: ConversationKey,
  ): void {
    const name = settings.agent || this.#defaultName;
    const agent = this.#opened.get(name);
    if (agent?.checkOptions) {
      return void agent.checkOptions(settings.agentOptions, conversation);
    }
    const ids = Object.keys(settings.agentOptions).join(", ");
    const problem = `cannot be set: agent ${quoted(name)} has no options`;
    throw invalid(
      "session_settings.agent_options",
      ids,
      problem,
      "leave them out",
    );
  }

  /**
   * Throws a `DevtoolError` when a message sets what holds for its turn alone,
   * and the agent of its session cannot follow that.
   *
   * @param agent the agent's name as `resolve` returned it
   */
  assertTurn(agent: string, turn: TurnSettings): void {
    const name = agent || this.#defaultName;
    const opened = this.#opened.get(name);
    if (opened?.checkTurn) return void opened.checkTurn(turn);
    const problem = `cannot be followed: agent ${quoted(name)} has the settings of its session in every turn`;
    throw invalid(
      "message_settings.turn",
      "",
      problem,
      "leave them out, or set session_settings.approval_mode",
    );
  }

  /**
   * The description of each agent by name, when clients can choose; empty when
   * there is one agent.
   */
  get choices(): ReadonlyMap<string, About> {
    if (this.#agents.size < 2) return new Map();
    return new Map([...this.#agents].map(([name, { about }]) => [name, about]));
  }

  /**
   * All agents for clients that choose one, the default one first. A single
   * agent has no name.
   */
  get listed(): readonly MessageInitShape<typeof ListedAgentSchema>[] {
    const others = [...this.#agents].filter(
      ([name]) => name !== this.#defaultName,
    );
    return [[this.#defaultName, this.default] as const, ...others].map(
      ([name, { about, model = "" }]) => ({
        name: this.#agents.size > 1 ? name : "",
        displayName: about.name,
        description: about.description,
        model,
        inputModes: [...(about.inputModes ?? [])],
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

const NO_COMMANDS: AgentCommands = {
  list: () => Promise.resolve([]),
  check: ({ commandPath }) =>
    Promise.resolve(
      `/${commandPath.join(" ")} does not exist: this agent has no commands`,
    ),
};
