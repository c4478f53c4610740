import type {
  ClientCapabilities,
  ContentBlock,
  SessionConfigOption,
  SetSessionConfigOptionResponse,
} from "@agentclientprotocol/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import { objectOrEmpty, stringOrEmpty } from "@devtool/schema/json";
import {
  abortable,
  Code,
  DevtoolError,
  inheritedEnvironment,
  quoted,
  type Semaphore,
  StdioProcess,
} from "@devtool/server/agent";
import type {
  AcpAgentOptions,
  AcpLimits,
  AcpPipe,
} from "./acp-agent-options.ts";
import { AcpConnection } from "./acp-connection.ts";
import { AgentMode } from "./agent-mode.ts";
import { ClientFiles } from "./client-files.ts";
import {
  type EnteredSession,
  type EnterOptions,
  enterSession,
  isConfigOption,
} from "./enter-session.ts";
import { Inbox, type SessionItem } from "./inbox.ts";
import type { ItemQueue } from "./item-queue.ts";
import { type ModelChoice, modelChoice } from "./model-choice.ts";
import { Terminals } from "./terminals.ts";

/** The options of `AcpSession.open`. */
export interface AcpSessionOptions extends EnterOptions {
  readonly limits: AcpLimits;
  /** Called when the agent lists its slash commands. */
  readonly onCommands: (update: JsonObject) => void;
  /** Held while a file is written for the agent. */
  readonly writing: Semaphore;
  readonly nowMs: () => number;
}

/**
 * A session of an agent, in a connection of its own. Disposing of it ends the
 * agent.
 */
export class AcpSession implements AsyncDisposable {
  readonly connection: AcpConnection;
  readonly terminals: Terminals;
  /** The agent's mode in the session. */
  readonly mode: AgentMode;
  /**
   * Whether the user has allowed the agent's changes of files for as long as it
   * runs.
   */
  allowsEdits = false;
  readonly #options: AcpSessionOptions;
  readonly #inbox: Inbox;
  #id = "";
  #isContinued = false;
  #configOptions: readonly SessionConfigOption[] = [];
  #models: JsonObject = {};
  /**
   * The model that the session had before a turn chose one; empty while none
   * has.
   */
  #modelBefore = "";
  #turn: Promise<void> = Promise.resolve();

  private constructor(
    connection: AcpConnection,
    inbox: Inbox,
    terminals: Terminals,
    options: AcpSessionOptions,
  ) {
    this.connection = connection;
    this.terminals = terminals;
    this.mode = new AgentMode(connection);
    this.#inbox = inbox;
    this.#options = options;
  }

  /**
   * Starts the agent and opens its session. Throws a `DevtoolError` when it
   * cannot within the time of the limits.
   */
  static async open(
    options: AcpSessionOptions,
    signal: AbortSignal,
  ): Promise<AcpSession> {
    const { agent, limits } = options;
    const timeout = AbortSignal.timeout(limits.startTimeoutMs);
    const starting = AbortSignal.any([signal, timeout]);
    try {
      const session = await AcpSession.#connect(options, starting);
      try {
        session.#enter(
          await enterSession(session.connection, options, starting),
        );
      } catch (reason) {
        await session[Symbol.asyncDispose]();
        throw reason;
      }
      return session;
    } catch (reason) {
      signal.throwIfAborted();
      if (!timeout.aborted) throw reason;
      const problem = `agent ${quoted(agent.name)} did not open a session within ${limits.startTimeoutMs} ms`;
      throw new DevtoolError(problem, Code.DeadlineExceeded, { cause: reason });
    }
  }

  /** Starts the agent and connects to it, without a session of its own yet. */
  static async #connect(
    options: AcpSessionOptions,
    signal: AbortSignal,
  ): Promise<AcpSession> {
    const { agent, limits, workspacePath, writing, onNotice, nowMs } = options;
    const { clientMethods = {} } = agent;
    const pipe = await startAgent(agent, workspacePath, signal);
    const inbox = new Inbox(options.onCommands);
    const terminals = new Terminals({
      workspacePath,
      gate: inbox,
      onOutput: (id) => inbox.put({ case: "terminal", value: id }),
    });
    const files = new ClientFiles({
      workspacePath,
      maxBytes: limits.maxMessageBytes,
      gate: inbox,
      writing,
    });
    const connection = await AcpConnection.open(
      pipe,
      {
        name: agent.name,
        limits,
        capabilities: capabilitiesOf(agent),
        register: (app) => {
          inbox.register(app);
          if (clientMethods.terminal === true) terminals.register(app);
          files.register(app, clientMethods);
        },
        room: () => inbox.room(),
        onNotice,
        nowMs,
      },
      signal,
    );
    return new AcpSession(connection, inbox, terminals, options);
  }

  #enter(entered: EnteredSession): void {
    this.#id = entered.id;
    this.#isContinued = entered.isContinued;
    this.#configOptions = entered.configOptions;
    this.#models = entered.models;
    this.mode.enter(entered);
  }

  /** The agent's id of the session. */
  get id(): string {
    return this.#id;
  }

  /** Whether the agent went on with the session that it was asked for. */
  get isContinued(): boolean {
    return this.#isContinued;
  }

  /**
   * The models of the agent, and which of them answers. Undefined if the agent
   * offers no choice.
   */
  get models(): ModelChoice | undefined {
    return modelChoice(this.#configOptions, this.#models);
  }

  /**
   * The model of turns that choose none; empty if the agent offers no choice.
   */
  get ownModel(): string {
    return this.#modelBefore || (this.models?.current ?? "");
  }

  /**
   * Sets the model of a turn. An empty name stands for the model that the
   * session had before a turn chose one.
   *
   * Throws `Code.InvalidArgument` for a name where the agent offers no choice.
   */
  async useModel(name: string, signal: AbortSignal): Promise<void> {
    const { models } = this;
    const modelId = name || this.#modelBefore;
    if (modelId !== "" && !models) {
      throw new DevtoolError(
        `agent ${quoted(this.#options.agent.name)} offers no choice of a model`,
        Code.InvalidArgument,
        { remedy: "leave it out" },
      );
    }
    this.#modelBefore = name === "" ? "" : this.ownModel;
    if (!models || modelId === "" || modelId === models.current) return;
    if (models.optionId !== undefined) {
      return this.setConfigOption(models.optionId, modelId, signal);
    }
    const params = { sessionId: this.#id, modelId };
    await this.connection.request("session/set_model", signal, (agent) =>
      agent.request("session/set_model", params),
    );
    this.#models = { ...this.#models, currentModelId: modelId };
  }

  /**
   * Sets one of the agent's configuration options. Does nothing when it has the
   * value already.
   */
  async setConfigOption(
    configId: string,
    value: string | boolean,
    signal: AbortSignal,
  ): Promise<void> {
    const option = this.#configOptions.find(({ id }) => id === configId);
    if (option?.currentValue === value) return;
    const sessionId = this.#id;
    const params =
      typeof value === "boolean"
        ? { sessionId, configId, type: "boolean" as const, value }
        : { sessionId, configId, value };
    const changed = await this.connection.request(
      "session/set_config_option",
      signal,
      (agent): Promise<SetSessionConfigOptionResponse | null> =>
        agent.request("session/set_config_option", params),
    );
    const { configOptions } = changed ?? {};
    if (Array.isArray(configOptions)) {
      this.#configOptions = configOptions.filter(isConfigOption);
    }
  }

  /** The configuration options with their present values. */
  get configOptions(): readonly SessionConfigOption[] {
    return this.#configOptions;
  }

  /** Whether a configuration option sets the agent's mode. */
  isModeOption(id: string): boolean {
    return this.#configOptions.some(
      (option) => option.id === id && option.category === "mode",
    );
  }

  /** Takes the changed mode or options that the agent reports. */
  noteState(update: JsonObject): void {
    if (update.sessionUpdate === "current_mode_update") {
      this.mode.note(stringOrEmpty(update.currentModeId));
    }
    if (
      update.sessionUpdate !== "config_option_update" ||
      !Array.isArray(update.configOptions)
    ) {
      return;
    }
    // All options of the session: another model may have others.
    const listed: readonly unknown[] = update.configOptions;
    this.#configOptions = listed.filter(isConfigOption);
  }

  /**
   * Sends a prompt. The items of the turn come from the queue, `stopped` or
   * `failed` last.
   */
  prompt(blocks: ContentBlock[]): ItemQueue<SessionItem> {
    const queue = this.#inbox.open();
    // It ends with the agent's answer or with the agent, also when the turn is
    // canceled.
    const asked = this.connection.request(
      "session/prompt",
      new AbortController().signal,
      (agent) =>
        agent.request("session/prompt", {
          sessionId: this.#id,
          prompt: blocks,
        }),
    );
    const done = asked.then(
      // An agent may answer with anything.
      (answer) =>
        queue.put({
          case: "stopped",
          value: stringOrEmpty(objectOrEmpty(answer).stopReason),
        }),
      (value: unknown) => queue.put({ case: "failed", value }),
    );
    this.#turn = done;
    return queue;
  }

  /**
   * Ends the turn: no further items are taken, and open questions are answered
   * with `cancelled`.
   */
  endTurn(): void {
    this.#inbox.close();
  }

  /** Cancels the turn. Ends the agent when it does not end the turn in time. */
  async cancel(): Promise<void> {
    const { cancelTimeoutMs } = this.#options.limits;
    await this.connection.agent
      .notify("session/cancel", { sessionId: this.#id })
      .catch(() => undefined);
    this.endTurn();
    await abortable(this.#turn, AbortSignal.timeout(cancelTimeoutMs)).catch(
      () => this[Symbol.asyncDispose](),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.endTurn();
    await this.terminals[Symbol.asyncDispose]();
    await this.connection[Symbol.asyncDispose]();
  }
}

/** Starts the process of an agent, or connects to where it runs. */
async function startAgent(
  { command }: AcpAgentOptions,
  workspacePath: string,
  signal: AbortSignal,
): Promise<AcpPipe> {
  if (typeof command === "function") return command(workspacePath, signal);
  return new StdioProcess({
    command: command.command,
    args: command.args ?? [],
    workingDirectory: workspacePath,
    environment: {
      ...inheritedEnvironment(process.env),
      ...command.environment,
    },
  });
}

/** The capabilities that the client offers the agent. */
function capabilitiesOf({
  clientMethods,
}: AcpAgentOptions): ClientCapabilities {
  const {
    readTextFile = false,
    writeTextFile = true,
    terminal = false,
  } = clientMethods ?? {};
  return {
    fs: { readTextFile, writeTextFile },
    terminal,
    session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
    elicitation: { form: {}, url: {} },
  };
}
