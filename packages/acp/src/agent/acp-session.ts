import type {
  ClientCapabilities,
  ContentBlock,
} from "@agentclientprotocol/sdk";
import type { JsonObject } from "@bufbuild/protobuf";
import { abortable } from "@devtool/internal/abortable";
import type { Arrivals } from "@devtool/internal/arrivals";
import { objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";
import type { Semaphore } from "@devtool/internal/semaphore";
import { traceFields } from "@devtool/internal/trace-parent";
import { oneLine } from "@devtool/internal/visible-text";
import type { TraceContext } from "@devtool/schema";
import {
  assertWorkspaceInPlace,
  Code,
  DevtoolError,
  inheritedEnvironment,
  quoted,
  StdioProcess,
} from "@devtool/server/agent";
import type {
  AcpAgentOptions,
  AcpLimits,
  AcpPipe,
} from "./acp-agent-options.ts";
import { AcpConnection } from "./acp-connection.ts";
import { AgentConfig } from "./agent-config.ts";
import { AgentMode } from "./agent-mode.ts";
import { ClientFiles } from "./client-files.ts";
import {
  type EnteredSession,
  enterSession,
  type SessionOptions,
} from "./enter-session.ts";
import { Inbox, type SessionItem } from "./inbox.ts";
import type { OnOdd } from "./session-state.ts";
import { Terminals } from "./terminals.ts";

/** The maximum number of notices about what an agent sends or offers. */
const MAX_TOLD = 16;

/** The options of `AcpSession.open`. */
export interface AcpSessionOptions extends SessionOptions {
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
  /** The agent's configuration options in the session, and its models. */
  readonly config: AgentConfig;
  /**
   * Whether the user has allowed the agent's changes of files for as long as it
   * runs.
   */
  allowsEdits = false;
  /** What its user was told about what the agent sends and nobody can show. */
  readonly told: Set<string> = new Set<string>();
  readonly #options: AcpSessionOptions;
  readonly #inbox: Inbox;
  readonly #onOdd: OnOdd;
  #id = "";
  #isContinued = false;
  #turn: Promise<void> = Promise.resolve();

  private constructor(
    connection: AcpConnection,
    inbox: Inbox,
    terminals: Terminals,
    tell: (text: string) => void,
    options: AcpSessionOptions,
  ) {
    this.#onOdd = (odd) => {
      const said = oneLine(JSON.stringify(odd), 80);
      tell(
        `offers a mode, a model or an option that cannot be used, which is left out: ${said}`,
      );
    };
    this.connection = connection;
    this.terminals = terminals;
    this.mode = new AgentMode(connection);
    this.config = new AgentConfig(connection, options.agent.name, this.#onOdd);
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
        const onOdd = session.#onOdd;
        session.#enter(
          await enterSession(
            session.connection,
            { ...options, onOdd },
            starting,
          ),
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
    assertWorkspaceInPlace(workspacePath);
    const pipe = await startAgent(agent, workspacePath, signal);
    const inbox = new Inbox(options.onCommands, () =>
      onNotice(
        `agent ${quoted(agent.name)} said something after the end of its turn: its user is told in the next one`,
      ),
    );
    const told = new Set<string>();
    const tell = (text: string): void => {
      if (told.has(text) || told.size >= MAX_TOLD) return;
      told.add(text);
      onNotice(`agent ${quoted(agent.name)} ${text}`);
      inbox.put({ case: "notice", value: `The agent ${text}.` });
    };
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
        onForeignSession: (method, sessionId) =>
          tell(
            `uses ${method} in session ${quoted(sessionId)}, which is not that of its conversation: it is left out`,
          ),
        room: () => inbox.room(),
        onNotice,
        nowMs,
      },
      signal,
    );
    return new AcpSession(connection, inbox, terminals, tell, options);
  }

  #enter(entered: EnteredSession): void {
    this.#id = entered.id;
    this.connection.enter(entered.id);
    this.#isContinued = entered.isContinued;
    this.mode.enter(entered);
    this.config.enter(entered);
  }

  /** The agent's id of the session. */
  get id(): string {
    return this.#id;
  }

  /** Whether the agent went on with the session that it was asked for. */
  get isContinued(): boolean {
    return this.#isContinued;
  }

  /** Takes the changed mode or options that the agent reports. */
  noteState(update: JsonObject): void {
    if (update.sessionUpdate === "current_mode_update") {
      this.mode.note(stringOrEmpty(update.currentModeId));
    }
    if (update.sessionUpdate === "config_option_update") {
      this.config.note(update.configOptions);
    }
  }

  /**
   * Sends a prompt. The items of the turn come from the queue, `stopped` or
   * `failed` last.
   *
   * @param trace the place of the turn in a trace, for the agent
   */
  prompt(
    blocks: ContentBlock[],
    trace: TraceContext | undefined,
  ): Arrivals<SessionItem> {
    const queue = this.#inbox.open();
    this.terminals.beginTurn();
    // It ends with the agent's answer or with the agent, also when the turn is
    // canceled.
    const asked = this.connection.request(
      "session/prompt",
      new AbortController().signal,
      (agent) =>
        agent.request("session/prompt", {
          sessionId: this.#id,
          prompt: blocks,
          ...(trace && { _meta: traceFields(trace) }),
        }),
    );
    const done = asked.then(
      // An agent may answer with anything.
      (answer) =>
        this.#inbox.endPrompt({
          case: "stopped",
          value: stringOrEmpty(objectOrEmpty(answer).stopReason),
        }),
      (value: unknown) => this.#inbox.endPrompt({ case: "failed", value }),
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
    const told = this.connection.agent
      .notify("session/cancel", { sessionId: this.#id })
      .catch(() => undefined);
    // An agent may take its time; what it runs here does not.
    this.terminals.cancelTurn();
    await told;
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
