import {
  type AgentContext,
  type ClientCapabilities,
  type PromptResponse,
  RequestError,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { create } from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import { readTraceContext, traceFields } from "@devtool/internal/trace-parent";
import { oneLine } from "@devtool/internal/visible-text";
import {
  CommandExecutionStatus,
  emptyTask,
  isTerminal,
  type McpServer,
  MessageSchema,
  MessageSettingsSchema,
  type Part,
  Role,
  type SendMessageRequest,
  SendMessageRequestSchema,
  SessionSettingsSchema,
  type SlashCommand,
  type Task,
} from "@devtool/schema";
import {
  availableCommands,
  type CommandLine,
  readCommandLine,
} from "./commands.ts";
import { partsFromPrompt } from "./content.ts";
import { Conversation, Conversations } from "./conversation.ts";
import { EditorServers } from "./editor-servers.ts";
import { invalidParams, RPC_CODE } from "./errors.ts";
import { isFollowed, type Port, type PortAgent } from "./port.ts";
import {
  lacksServer,
  type MessageSettings,
  type SessionChoices,
  settingsFor,
} from "./session-choices.ts";
import { lastOfPrompts } from "./session-list.ts";
import { Turn } from "./turn.ts";
import { SessionUpdates } from "./updates.ts";

/** Dependencies of a session. */
export interface SessionHost {
  readonly port: Port;
  readonly acp: AgentContext;
  readonly capabilities: ClientCapabilities;
  readonly nextId: () => string;
  readonly log: (text: string) => void;
  /** The programs that the user has allowed to start. */
  readonly allowedPrograms: Set<string>;
  /** Aborts when the connection closes. */
  readonly signal: AbortSignal;
}

/**
 * One ACP session: a context of the server, with the task that its prompts
 * continue.
 */
export class EditorSession {
  readonly id: string;
  readonly #host: SessionHost;
  readonly #updates: SessionUpdates;
  readonly #servers: EditorServers;
  #choices: SessionChoices;
  #conversations: Conversations;
  #commands: readonly SlashCommand[] = [];
  /** Resolves when the commands are known. */
  #announced: Promise<void> | undefined;
  #turn: Turn | undefined;
  /** Cancels the prompt that is being answered. */
  #prompting: AbortController | undefined;
  /** The headers of a prompt's messages. */
  #headers: Readonly<Record<string, string>> = {};

  constructor(id: string, host: SessionHost, choices: SessionChoices) {
    this.id = id;
    this.#host = host;
    this.#choices = choices;
    const { acp, port, nextId, allowedPrograms: allowed } = host;
    this.#servers = new EditorServers(
      {
        sessionId: id,
        acp,
        port,
        cwd: choices.cwd,
        nextId,
        tell: (text) => this.tell(text),
        allowed,
      },
      choices.mcpServers,
    );
    this.#conversations = new Conversations(
      new Conversation(choices.agent, id),
    );
    this.#updates = new SessionUpdates(
      host.capabilities,
      host.port.workspace ?? "",
      new Set(choices.mcpServers.map(({ name }) => name)),
    );
  }

  get choices(): SessionChoices {
    return this.#choices;
  }

  get port(): Port {
    return this.#host.port;
  }

  /** The chosen agent. */
  get agent(): PortAgent {
    return this.port.agents?.get(this.#choices.agent) ?? this.port.agent;
  }

  /** Changes what applies from the next prompt on. */
  choose(
    changes: Partial<Pick<SessionChoices, "model" | "approvalMode">>,
  ): void {
    this.#choices = { ...this.#choices, ...changes };
  }

  /**
   * Sends later prompts to another agent, in a context of its own: that of
   * earlier prompts to it, or a new one.
   *
   * Returns what the client has to know about that; empty for nothing.
   */
  chooseAgent(agent: string): string {
    this.#choices = { ...this.#choices, agent };
    this.#announced = undefined;
    const news = this.#conversations.choose(agent, {
      isBusy: this.#prompting !== undefined,
      nextId: this.#host.nextId,
    });
    const isWithout =
      this.#choices.mcpServers.length > 0 &&
      !isFollowed(this.agent, "mcp_servers");
    const lost = isWithout
      ? `The agent ${JSON.stringify(oneLine(this.agent.name))} does not take MCP servers of its clients: the session goes on without them.`
      : "";
    return [news, lost].filter((text) => text !== "").join(" ");
  }

  /** Shows the user a text that no agent has said. */
  async tell(text: string): Promise<void> {
    const { acp, capabilities } = this.#host;
    const content = { type: "text", text: `${text}\n` } as const;
    const update: SessionUpdate = capabilities.session?.notices
      ? { sessionUpdate: "notice", severity: "info", title: text }
      : { sessionUpdate: "agent_message_chunk", content };
    await acp.notify("session/update", { sessionId: this.id, update });
  }

  /**
   * Continues the tasks of an existing context, oldest first: prompts go to the
   * last one.
   */
  continue(tasks: readonly Task[]): void {
    const last = lastOfPrompts(tasks) ?? tasks.at(-1);
    if (!last) return;
    const agent = this.#takeChoices(last);
    const conversation = new Conversation(agent, last.contextId);
    for (const task of [...tasks, last]) conversation.note(task);
    this.#conversations = new Conversations(conversation);
  }

  /**
   * Goes on with a task of another session from its first prompt on, as that
   * task is now. The task has ended.
   */
  fork(origin: Task): void {
    const agent = this.#takeChoices(origin);
    this.#conversations = new Conversations(
      new Conversation(agent, this.id, origin),
    );
  }

  /** Takes the choices that a task was made with. Returns its agent. */
  #takeChoices({ sessionSettings }: Task): string {
    const { approvalMode, model, agent } =
      sessionSettings ?? create(SessionSettingsSchema);
    this.#choices = { ...this.#choices, approvalMode, model, agent };
    return agent;
  }

  /** Shows tasks from their beginning. */
  async replay(tasks: readonly Task[]): Promise<void> {
    const { acp } = this.#host;
    for (const task of tasks) {
      for (const update of this.#updates.ofTask(task)) {
        await acp.notify("session/update", { sessionId: this.id, update });
      }
    }
  }

  /** Follows the newest task that works or asks, without a prompt. */
  attach(tasks: readonly Task[]): void {
    const task = tasks.findLast(({ state }) => !isTerminal(state));
    if (!task || this.#turn) return;
    const conversation = this.#conversations.current;
    const turn = this.#open(task);
    const followed = turn
      .follow()
      .catch((reason: unknown) =>
        this.#host.log(`task ${task.id} is not followed: ${reason}`),
      );
    void followed.finally(
      () => this.#turn === turn && this.#close(turn, conversation),
    );
  }

  /**
   * Lists the slash commands, and shows them to the client. A server that
   * cannot list them has none.
   */
  announceCommands(): Promise<void> {
    this.#announced ??= this.#announce();
    return this.#announced;
  }

  async #announce(): Promise<void> {
    const { port, acp, signal } = this.#host;
    if (!this.agent.hasExtension) return;
    try {
      const { isStarted, contextId, origin } = this.#conversations.current;
      // To list commands starts no MCP server that nobody was asked about.
      const where = isStarted
        ? { contextId: origin?.contextId ?? contextId }
        : this.#settings([]);
      const { commands } = await port.client.commands.getAllSlashCommands(
        where,
        { signal },
      );
      this.#commands = commands;
      const update = {
        sessionUpdate: "available_commands_update",
        availableCommands: availableCommands(commands),
      } as const;
      await acp.notify("session/update", { sessionId: this.id, update });
    } catch (reason) {
      if (!signal.aborted) {
        this.#host.log(`the slash commands are not known: ${String(reason)}`);
      }
    }
  }

  /**
   * Sends a prompt, or runs the slash command that it is, and returns how the
   * turn ended. It goes on in the trace that the client's `_meta` has.
   */
  async prompt(
    blocks: unknown,
    meta: unknown,
    signal: AbortSignal,
  ): Promise<PromptResponse> {
    if (this.#prompting) {
      const problem = `session "${this.id}" works on a prompt: wait for its end, or cancel it with session/cancel`;
      throw new RequestError(RPC_CODE.INVALID_REQUEST, problem);
    }
    const canceled = new AbortController();
    this.#prompting = canceled;
    const { traceparent, tracestate } = objectOrEmpty(meta);
    this.#headers = traceFields(readTraceContext(traceparent, tracestate));
    try {
      return await this.#answer(
        blocks,
        AbortSignal.any([signal, canceled.signal]),
      );
    } finally {
      this.#prompting = undefined;
    }
  }

  /** Stops following the task, which continues. */
  leave(): void {
    this.#turn?.detach();
  }

  /** Cancels the current prompt and its turn. */
  async cancel(): Promise<void> {
    this.#prompting?.abort();
    await this.#turn?.cancel();
  }

  async #answer(
    blocks: unknown,
    canceled: AbortSignal,
  ): Promise<PromptResponse> {
    const parts = await this.#read(blocks);
    const texts = parts.map(({ content }) =>
      content.case === "text" ? content.value : undefined,
    );
    // A slash command has no files.
    const line = texts.includes(undefined) ? "" : texts.join("\n");
    if (line.startsWith("/")) await this.announceCommands();
    const command = readCommandLine(line, this.#commands);
    if (canceled.aborted) return { stopReason: "cancelled" };
    // Stop following a task that the session was loaded with. What was shown of
    // it is not shown again.
    const followed = this.#turn;
    followed?.detach();
    // Another agent may be chosen meanwhile, for later prompts.
    const conversation = this.#conversations.current;
    if (followed) this.#close(followed, conversation);
    const { agent } = this;
    const lacks = (server: McpServer) =>
      lacksServer(conversation, agent, server);
    await this.#servers.ask(lacks, canceled);
    if (canceled.aborted) return { stopReason: "cancelled" };
    for (;;) {
      try {
        const brought = this.#servers.of(conversation.agent).filter(lacks);
        const response = await this.#take(command ?? parts, canceled);
        if (brought.length > 0) {
          // The prompts of its MCP servers are commands, too.
          this.#announced = undefined;
          void this.announceCommands();
        }
        return response;
      } catch (reason) {
        const { agent: name } = conversation;
        const isLeftOut = await this.#servers.leaveOut(name, lacks, reason);
        if (!isLeftOut) throw reason;
      }
    }
  }

  /** Sends a prompt or a command, and follows its task to the end of the turn. */
  async #take(
    sent: Part[] | CommandLine,
    canceled: AbortSignal,
  ): Promise<PromptResponse> {
    const fork = await this.#forkPoint();
    if (canceled.aborted) return { stopReason: "cancelled" };
    const conversation = this.#conversations.current;
    const task = Array.isArray(sent) ? conversation.task : emptyTask();
    const turn = this.#open(task);
    const cancel = (): void => void turn.cancel();
    canceled.addEventListener("abort", cancel, { once: true });
    try {
      if (Array.isArray(sent)) {
        const request = this.#request(sent, task);
        await turn.send(
          conversation.origin ? { ...request, ...fork } : request,
        );
      } else {
        await this.#run(sent, turn);
      }
      return turn.response();
    } finally {
      canceled.removeEventListener("abort", cancel);
      this.#close(turn, conversation);
    }
  }

  #open(task: Task): Turn {
    const { port, acp, nextId, log, signal } = this.#host;
    const host = {
      sessionId: this.id,
      client: port.client,
      headers: this.#headers,
      acp,
      updates: this.#updates,
      nextId,
      log,
      signal,
    };
    const turn = new Turn(host, task);
    this.#turn = turn;
    return turn;
  }

  #close(turn: Turn, conversation: Conversation): void {
    conversation.note(turn.task);
    if (this.#turn === turn) this.#turn = undefined;
  }

  async #read(blocks: unknown): Promise<Part[]> {
    const { acp, capabilities, log } = this.#host;
    const canRead = capabilities.fs?.readTextFile === true;
    const readBuffer = async (path: string): Promise<string | undefined> => {
      if (!canRead) return undefined;
      try {
        const answer = await acp.request("fs/read_text_file", {
          sessionId: this.id,
          path,
        });
        // An editor may answer with anything.
        const { content } = objectOrEmpty(answer);
        if (typeof content === "string") return content.toWellFormed();
        throw new Error("the answer has no content");
      } catch (reason) {
        log(
          `the client does not give ${JSON.stringify(path)}: ${String(reason)}`,
        );
        return undefined;
      }
    };
    return partsFromPrompt(blocks, this.agent.inputModes, readBuffer);
  }

  /**
   * Returns how the first prompt of a fork goes on with the other session: from
   * where it was when it was forked, if the agent can leave it before its end.
   */
  async #forkPoint(): Promise<
    Pick<Partial<SendMessageRequest>, "messageSettings">
  > {
    const { origin } = this.#conversations.current;
    if (!origin) return {};
    const { port, signal } = this.#host;
    const taskId = origin.id;
    const { task } = await port.client.tasks.getTask({ taskId }, { signal });
    const next = isFollowed(this.agent, "fork_before_message")
      ? task?.history
          .slice(origin.history.length)
          .find(({ role, forGoal }) => role === Role.USER && !forGoal)
      : undefined;
    const beforeMessageId = next?.messageId ?? "";
    return {
      messageSettings: create(MessageSettingsSchema, {
        fork: { taskId, beforeMessageId },
      }),
    };
  }

  #request(parts: Part[], task: Task): SendMessageRequest {
    const { contextId } = this.#conversations.current;
    const message = create(MessageSchema, {
      messageId: this.#host.nextId(),
      role: Role.USER,
      parts,
    });
    const { hasExtension } = this.agent;
    const takesNoMore = !hasExtension || task.workflowRun !== undefined;
    if (task.id !== "" && isTerminal(task.state) && takesNoMore) {
      // A2A itself knows no messages to a task that has ended, and the run of a
      // workflow takes none.
      message.referenceTaskIds = [task.id];
      return create(SendMessageRequestSchema, {
        message,
        contextId: task.contextId,
        ...(hasExtension && this.#settings()),
      });
    }
    const place = task.id === "" ? { contextId } : { taskId: task.id };
    return create(SendMessageRequestSchema, {
      message,
      ...place,
      ...this.#settings(),
    });
  }

  async #run(command: CommandLine, turn: Turn): Promise<void> {
    const { port, signal } = this.#host;
    const { contextId, origin } = this.#conversations.current;
    if (origin) {
      throw invalidParams(
        `session "${this.id}" begins with a prompt, since it is a fork: send one before /${command.commandPath.join(" ")}`,
      );
    }
    const request = { command, contextId, ...this.#settings() };
    const { result } = await port.client.commands.runSlashCommand(request, {
      signal,
      headers: this.#headers,
    });
    if (!result || result.status === CommandExecutionStatus.FAILED_TO_START) {
      throw invalidParams(
        result?.message || `/${command.commandPath.join(" ")} did not start`,
      );
    }
    await turn.followFrom(result.executionId);
  }

  /** The settings that go with the next message or command. */
  #settings(
    mcpServers = this.#servers.of(this.#choices.agent),
  ): MessageSettings {
    return settingsFor(
      this.#conversations.current,
      { ...this.#choices, mcpServers },
      this.agent,
      this.port.workspace,
    );
  }
}
