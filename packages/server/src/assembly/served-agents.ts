import type { Task } from "@devtool/schema";
import type { About, Agent, AgentCommands, AgentOffers, AgentServices, OpenAgent } from "../agent/agent.ts";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import type { ServerOptions } from "../server-options.ts";

/** The agents of a server, by name: chosen for each task, opened and closed with the server. */
export class ServedAgents implements AsyncDisposable {
  readonly #agents: ReadonlyMap<string, Agent>;
  readonly #opened = new Map<string, OpenAgent>();
  readonly #default: readonly [string, Agent];

  /** Throws `Code.InvalidArgument` where there is no agent, or none of the default's name. */
  constructor({ agents, defaultAgent }: Pick<ServerOptions, "agents" | "defaultAgent">) {
    this.#agents = new Map(Object.entries(agents));
    const [first = ""] = this.#agents.keys();
    const name = defaultAgent ?? first;
    const found = this.#agents.get(name);
    const wrong = [...this.#agents.keys()].find((each) => !/^[\w-]+$/.test(each));
    if (wrong !== undefined) throw invalid("agents", wrong, "is not a name", "use letters, digits, - and _");
    if (!found) throw invalid("default_agent", name, "is not one of the agents", `choose ${this.#names() || "one"}`);
    this.#default = [name, found];
  }

  /** The agent of clients that choose none. */
  get default(): Agent {
    return this.#default[1];
  }

  /** Opens all of them. Throws what an agent throws; those that are open then are closed. */
  async open(services: AgentServices): Promise<void> {
    try {
      for (const [name, agent] of this.#agents) this.#opened.set(name, await agent.open(services));
    } catch (reason) {
      await this[Symbol.asyncDispose]();
      throw reason;
    }
  }

  /** Makes the executor of a task. One whose agent is no longer served fails its turn, and says so. */
  createExecutor(task: Task): AgentExecutor {
    const name = this.#nameOf(task);
    return this.#opened.get(name)?.createExecutor(task) ?? missingAgent(this.#unknown(name));
  }

  /** The tools and MCP servers of a task; none where its agent lists none, or is no longer served. */
  async offersOf(task: Task, signal: AbortSignal): Promise<AgentOffers> {
    const agent = this.#opened.get(this.#nameOf(task));
    return (await agent?.offers?.(task, signal)) ?? { tools: [], mcpServers: [] };
  }

  /** The slash commands of an agent; of the default for an empty name. */
  commandsOf(name: string): AgentCommands {
    return this.#opened.get(name || this.#default[0])?.commands ?? NO_COMMANDS;
  }

  /**
   * Gives the name of the agent that a session keeps which asks for one, or for none. Where there is one agent, nothing
   * needs to be kept. Throws `Code.InvalidArgument`, with the names there are, for an unknown one.
   */
  settle(name: string): string {
    if (name === "") return this.#agents.size > 1 ? this.#default[0] : "";
    if (this.#agents.has(name)) return name;
    throw invalid("session_settings.agent", name, "is not served here", `choose ${this.#names()}`);
  }

  /** Throws `Code.InvalidArgument` where a session brings MCP servers to an agent, by its settled name, that takes none. */
  assertMcpServers(name: string, servers: readonly string[]): void {
    const agent = name || this.#default[0];
    if (servers.length === 0 || this.#agents.get(agent)?.takesMcpServers === true) return;
    const problem = `cannot be used, since agent ${quoted(agent)} takes no MCP servers of clients`;
    throw invalid("mcp_servers", servers.join(", "), problem, `leave them out${this.#takers()}`);
  }

  /** What each agent says of itself, by name, where clients can choose: empty where there is one. */
  get choices(): ReadonlyMap<string, About> {
    if (this.#agents.size < 2) return new Map();
    return new Map([...this.#agents].map(([name, { about }]) => [name, about]));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([...this.#opened.values()].map((agent) => agent[Symbol.asyncDispose]?.()));
    this.#opened.clear();
  }

  #nameOf({ sessionSettings }: Task): string {
    return sessionSettings?.agent || this.#default[0];
  }

  /** The agents to choose instead of one that takes no MCP servers, as the end of a remedy; empty where there is none. */
  #takers(): string {
    const takers = [...this.#agents].flatMap(([name, { takesMcpServers }]) => (takesMcpServers === true ? [name] : []));
    return takers.length === 0 ? "" : `, or choose agent ${takers.join(", ")}`;
  }

  #names(): string {
    return [...this.#agents.keys()].join(", ");
  }

  #unknown(name: string): DevtoolError {
    return new DevtoolError(`agent ${quoted(name)} is not served here`, Code.NotFound, {
      remedy: `choose ${this.#names()}`,
    });
  }
}

/** The executor of a task whose agent is not served: the task fails with the reason. */
function missingAgent(reason: DevtoolError): AgentExecutor {
  return {
    // biome-ignore lint/correctness/useYield: it has nothing to say but its failure.
    async *execute() {
      throw reason;
    },
  };
}

const NO_COMMANDS: AgentCommands = {
  list: () => Promise.resolve([]),
  check: ({ commandPath }) => Promise.resolve(`/${commandPath.join(" ")} does not exist: this agent has no commands`),
};
