import { randomUUID } from "node:crypto";
import {
  type DevtoolClient,
  pendingToolCalls,
  textMessage,
} from "@devtool/client";
import { oneLine } from "@devtool/internal/visible-text";
import {
  CommandExecutionStatus,
  emptyTask,
  isTerminal,
  type ListedAgent,
  reduceTask,
  type SlashCommand,
  type Task,
  TaskState,
} from "@devtool/schema";
import { approvalModeOf, assertNarrower } from "../approval-mode.ts";
import { imageProblem, localWorkspace, readMentions } from "../chat/mention.ts";
import type { ChatDependencies, ChatOptions } from "../chat-options.ts";
import { refusalOf } from "../chosen-setting.ts";
import { completeCommand } from "../completion.ts";
import { createNotifier, openConnection } from "../connection/connection.ts";
import { begunTaskId, continuedTaskId } from "../continued-task.ts";
import {
  answerAll,
  type ConversationOptions,
  converse,
  followToRest,
} from "../conversation.ts";
import { userMessage } from "../error-text.ts";
import { UsageError } from "../errors.ts";
import { ExitCode } from "../exit-code.ts";
import { headline } from "../headline.ts";
import { Interrupts } from "../interrupts.ts";
import { type Io, isTerminal as isAtTerminal, writeLine } from "../io.ts";
import { createPrompter, type Prompter } from "../prompter.ts";
import { indented, type Paint, paintFor, visible } from "../render/style.ts";
import { Transcript } from "../render/transcript.ts";
import {
  type ChosenSettings,
  createAnswering,
  sessionSettings,
} from "../session.ts";
import { isSlashLine, readSlashLine } from "../slash-line.ts";
import {
  type ForkPoint,
  forkPoint,
  numberedMessage,
  pointBefore,
  rewindNotice,
  type UserMessage,
  userMessages,
} from "../user-messages.ts";

/**
 * `devtool chat`: a conversation in one task, and slash commands in its
 * context.
 *
 * Esc and Ctrl-C cancel the turn; a second Ctrl-C ends the chat. Between turns
 * Ctrl-C empties the line first.
 */
export async function chat(options: ChatOptions, io: Io): Promise<number> {
  const mode = approvalModeOf(options.approvalMode);
  // Ink needs a terminal that can move its cursor. It is loaded only here,
  // while the server is looked for.
  const canRedraw =
    isAtTerminal(io.stdin) && isAtTerminal(io.stdout) && io.env.TERM !== "dumb";
  const loading = canRedraw
    ? Promise.all([
        import("../chat/terminal-chat.ts"),
        import("../chat/ink-terminal.tsx"),
      ])
    : undefined;
  let tell = createNotifier(io);
  const connection = await openConnection(options, io, (text) => tell(text));
  assertNarrower(mode, connection.address.info?.approvalMode);
  const onNotice = (listener: (text: string) => void): void => {
    tell = listener;
  };
  const agents = await listAgents(connection.client);
  const dependencies = { connection, options, agents, io, onNotice };
  const [terminal, ink] = (await loading) ?? [];
  return terminal && ink
    ? terminal.terminalChat(dependencies, ink.InkTerminal)
    : lineChat(dependencies);
}

/** Lists the agents of a server: none if it cannot list them in time. */
async function listAgents({
  agents,
}: DevtoolClient): Promise<readonly ListedAgent[]> {
  const signal = AbortSignal.timeout(LIST_AGENTS_MS);
  const listed = await agents.listAgents({}, { signal }).catch(() => undefined);
  return listed?.agents ?? [];
}

const LIST_AGENTS_MS = 5000;

/**
 * Chats line by line: for pipes, and for terminals that cannot move their
 * cursor.
 */
async function lineChat({
  connection,
  options,
  agents,
  io,
  onNotice,
}: ChatDependencies): Promise<number> {
  const { client, address, isServerGone } = connection;
  const workspace = await localWorkspace(address.info, options.workspace);
  const session = new ChatSession({ client, workspace, options, agents, io });
  onNotice((text) => session.tell(`· ${text}`));
  await session.refreshCommands(session.signal);
  const paint = paintFor(io);
  using prompter = createPrompter(io, {
    complete: (line) =>
      completeCommand(line, session.commands, ["exit", "quit", "rewind"]),
    onQueued: (message) => session.tell(`· queued: ${message}`),
    onEscape: () => interrupts.cancelTurn(),
  });
  writeLine(
    io.stdout,
    paint("dim", `${visible(headline(address, options, agents))}\n${WELCOME}`),
  );
  const { approve, exitCode } = createAnswering(
    { approve: "ask", ...options },
    io,
    prompter.questioner,
  );
  const conversation = session.conversation(approve);
  const interrupts = new Interrupts({
    client,
    io,
    prompter,
    running: () => session.running,
    isServerGone,
  });
  await session.open(conversation, interrupts);
  for (;;) {
    const line = await readMessage(prompter, paint, session.signal);
    if (line === undefined || line === "/exit" || line === "/quit") {
      return exitCode({ state: TaskState.COMPLETED });
    }
    if (line === "") continue;
    const [isRewind, number = ""] = /^\/rewind(?:\s+(\S.*))?$/.exec(line) ?? [];
    if (isRewind !== undefined) {
      const text = await session.rewind(number);
      // What a program writes next takes its place.
      if (text !== "" && io.interactive) {
        // A terminal that cannot redraw a line does not show what is in it.
        session.tell(`· kept for your next message: ${oneLine(text)}`);
        prompter.restore(text);
      }
    } else if (!(await session.answer(conversation, interrupts))) {
      prompter.restore(line);
    } else if (isSlashLine(line) && imageProblem(line) !== "") {
      writeLine(io.stderr, indented(imageProblem(line)));
    } else if (isSlashLine(line)) {
      await session.command(line, conversation, interrupts);
    } else {
      await session.say(line, conversation, interrupts);
    }
    if (interrupts.leaving) return ExitCode.CANCELED;
  }
}

/**
 * Reads a message: a line, with those that continue it after a backslash at its
 * end. Undefined at the end of the input, or when `signal` aborts.
 */
async function readMessage(
  prompter: Prompter,
  paint: Paint,
  signal: AbortSignal,
): Promise<string | undefined> {
  let line = await prompter.message(paint("heading", "> "), signal);
  while (line?.endsWith("\\")) {
    const more = await prompter.message(paint("heading", "… "), signal);
    line = `${line.slice(0, -1)}\n${more ?? ""}`;
  }
  return line;
}

const WELCOME =
  "Type a message; end a line with \\ to continue it. /help lists commands, Tab completes them, /rewind goes back to an earlier message, /quit leaves, Esc or Ctrl-C cancels a turn.";

/** Dependencies of `ChatSession`. */
interface ChatSessionOptions
  extends Pick<ChatDependencies, "options" | "agents" | "io"> {
  readonly client: DevtoolClient;
  /**
   * The workspace on this machine, whose files a message may attach; undefined
   * if it is on another one.
   */
  readonly workspace: string | undefined;
}

/** A chat: the task of its messages, and the tasks of its slash commands. */
class ChatSession {
  /** The server's slash commands, as last listed. */
  commands: readonly SlashCommand[] = [];
  /** The current or last task: that of the messages, or that of a command. */
  running: Task = emptyTask();
  /** Never aborts: between turns, the end of the input ends the chat. */
  readonly signal: AbortSignal = new AbortController().signal;
  readonly #client: DevtoolClient;
  readonly #workspace: string | undefined;
  readonly #options: ChatOptions;
  readonly #agents: readonly ListedAgent[];
  readonly #io: Io;
  #task: Task = emptyTask();
  #contextId = "";
  /**
   * The settings that the next message or command changes in the session that
   * is continued.
   */
  #change: Partial<ChosenSettings> = {};
  /** Where the first message leaves the conversation that it goes on with. */
  #fork: ForkPoint | undefined;
  readonly #transcript: Transcript;

  constructor({ client, workspace, options, agents, io }: ChatSessionOptions) {
    this.#transcript = new Transcript(paintFor(io));
    this.#client = client;
    this.#workspace = workspace;
    this.#options = options;
    this.#agents = agents;
    this.#io = io;
  }

  /**
   * Returns how turns are followed: each event is printed and applied to the
   * current task.
   */
  conversation(approve: ConversationOptions["approve"]): ConversationOptions {
    return {
      client: this.#client,
      approve,
      onEvent: (event) => {
        this.running = reduceTask(this.running, event);
        this.#io.stdout.write(this.#transcript.add(event));
      },
      onOutdated: (problem) => this.tell(problem),
      nextId: randomUUID,
      clientLabel: "devtool chat",
    };
  }

  /**
   * Continues the task of `--task` or `--continue`, with its open questions.
   */
  async open(
    conversation: ConversationOptions,
    interrupts: Interrupts,
  ): Promise<void> {
    const taskId = await continuedTaskId(
      this.#client,
      this.#options,
      this.signal,
    );
    this.#fork = await forkPoint(
      this.#client,
      taskId,
      this.#options,
      this.signal,
    );
    if (taskId === undefined || this.#fork) return;
    const { task } = await this.#client.tasks.getTask(
      { taskId },
      { signal: this.signal },
    );
    this.#change = sessionSettings(this.#options);
    this.running = task ?? emptyTask();
    this.#keep(
      await interrupts.during((signal) =>
        answerAll(this.running, conversation, signal),
      ),
    );
  }

  /** Prints a line between the events of a turn. */
  tell(text: string): void {
    this.#io.stdout.write(
      this.#transcript.line(paintFor(this.#io)("dim", visible(text))),
    );
  }

  /**
   * Repeats questions that were left open, for example because the answer did
   * not arrive. Returns whether none is left.
   */
  async answer(
    conversation: ConversationOptions,
    interrupts: Interrupts,
  ): Promise<boolean> {
    const asking = this.running;
    if (pendingToolCalls(asking).length === 0) return true;
    const task = await interrupts.during((signal) =>
      answerAll(asking, conversation, signal),
    );
    if (asking.id === this.#task.id) this.#keep(task);
    this.running = task;
    return pendingToolCalls(task).length === 0;
  }

  /**
   * Sends a message with the files that it mentions. A leading `//` stands for
   * one slash.
   */
  async say(
    line: string,
    conversation: ConversationOptions,
    interrupts: Interrupts,
  ): Promise<void> {
    const text = textMessage(randomUUID(), line.replace(/^\/\//, "/"));
    const mentioned = await readMentions(line, this.#workspace);
    for (const problem of mentioned.problems) this.tell(problem);
    const message = { ...text, parts: [...text.parts, ...mentioned.parts] };
    const before = this.#task;
    this.running = before;
    const fork = before.id === "" ? this.#fork : undefined;
    // A command may have had a context before the fork has its own.
    if (fork) this.#contextId = "";
    const where =
      before.id === "" ? this.#where() : { taskId: before.id, ...this.#change };
    const task = await interrupts.during(async (signal) => {
      const ended = await converse(
        { request: { message, ...where }, fork, before },
        conversation,
        signal,
      );
      // The session has the mode now. A model is chosen for one message.
      if (this.#options.task !== undefined) {
        this.#change = sessionSettings({ model: this.#options.model });
      }
      return ended;
    });
    this.#keep(task);
    if (isTerminal(this.#task.state)) this.#io.stdout.write("\n");
  }

  /**
   * Goes on from before the message with a number from 1, in a new conversation,
   * and returns its text. Lists the messages for an empty number. Prints the
   * reason if there is no such message.
   */
  async rewind(number: string): Promise<string> {
    try {
      const [messages, chosen] = await this.#findMessage(number);
      if (chosen) {
        this.#task = emptyTask();
        this.running = this.#task;
        this.#contextId = "";
        this.#change = {};
        this.#fork = pointBefore(chosen);
        this.tell(`· ${rewindNotice(chosen, this.commands)}`);
        return chosen.text;
      }
      for (const [at, { text }] of messages.entries()) {
        this.tell(`${at + 1}  ${oneLine(text) || "(no text)"}`);
      }
      this.tell(
        messages.length === 0
          ? "· there is no message to go back to yet"
          : "· /rewind NUMBER goes on from before one of them",
      );
    } catch (reason) {
      writeLine(this.#io.stderr, indented(userMessage(reason)));
    }
    return "";
  }

  /** Finds the user's messages, and the one with a number from 1 if there is any. */
  async #findMessage(
    number: string,
  ): Promise<[readonly UserMessage[], UserMessage | undefined]> {
    const { agent = this.#options.agent ?? "" } =
      this.#task.sessionSettings ?? {};
    const refusal = refusalOf("fork_before_message", agent, this.#agents);
    if (refusal !== "") throw new UsageError(refusal);
    const known = this.#task.id || (this.#fork?.taskId ?? "");
    const messages =
      known === "" ? [] : await userMessages(this.#client, known, this.signal);
    return number === ""
      ? [messages, undefined]
      : [messages, numberedMessage(messages, number, `/rewind ${number}`)];
  }

  /**
   * Runs a slash command in the context of the chat. Prints the reason if it
   * does not start.
   */
  async command(
    line: string,
    conversation: ConversationOptions,
    interrupts: Interrupts,
  ): Promise<void> {
    this.running = emptyTask();
    const task = await interrupts.during(async (signal) => {
      await this.refreshCommands(signal);
      const command = readSlashLine(line, this.commands);
      const request = { command, ...this.#where(), ...this.#change };
      const { result } = await this.#client.commands.runSlashCommand(request, {
        signal,
      });
      if (!result || result.status === CommandExecutionStatus.FAILED_TO_START) {
        writeLine(
          this.#io.stderr,
          indented(result?.message || "the command did not start"),
        );
        return this.running;
      }
      return answerAll(
        await followToRest(result.executionId, conversation, signal),
        conversation,
        signal,
      );
    });
    this.running = task;
    this.#contextId ||= task.contextId;
    if (task.id !== "") this.#io.stdout.write("\n");
    const isGoal = task.command?.commandPath[0] === "goal";
    if (isGoal && this.#task.id === "") {
      await this.#followBegun(conversation, interrupts);
    }
  }

  /** Goes on with the task that `/goal` has begun, if it has. */
  async #followBegun(
    conversation: ConversationOptions,
    interrupts: Interrupts,
  ): Promise<void> {
    const task = await interrupts.during(async (signal) => {
      const begun = await begunTaskId(this.#client, this.#contextId, signal);
      if (begun === undefined) return emptyTask();
      this.running = emptyTask();
      const rested = await followToRest(begun, conversation, signal);
      return answerAll(rested, conversation, signal);
    });
    if (task.id !== "") this.#keep(task);
  }

  /**
   * Lists the server's slash commands again: none if the server cannot list
   * them.
   */
  async refreshCommands(signal: AbortSignal): Promise<void> {
    const { commands } = this.#client;
    const listed = await commands
      .getAllSlashCommands(this.#where(), { signal })
      .catch(() => undefined);
    signal.throwIfAborted();
    this.commands = listed?.commands ?? [];
  }

  /**
   * Returns the context of the next request: the chat's, or a new one with the
   * settings of the command line.
   */
  #where(): { readonly contextId: string } | ChosenSettings {
    return this.#contextId === ""
      ? sessionSettings(this.#options)
      : { contextId: this.#contextId };
  }

  #keep(task: Task): void {
    this.#task = task;
    this.running = task;
    this.#contextId ||= task.contextId;
  }
}
