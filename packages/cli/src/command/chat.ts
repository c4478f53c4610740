import { randomUUID } from "node:crypto";
import { type DevtoolClient, textMessage } from "@devtool/client";
import {
  CommandExecutionStatus,
  emptyTask,
  isTerminal,
  reduceTask,
  type SlashCommand,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import { approveByAsking } from "../approval.ts";
import { completeCommand } from "../completion.ts";
import { type ConnectionOptions, connect } from "../connection.ts";
import { answerAll, type ConversationOptions, converse, followToRest } from "../conversation.ts";
import { ExitCode } from "../exit-code.ts";
import { Interrupts } from "../interrupts.ts";
import { type Io, writeLine } from "../io.ts";
import { createPrompter, type Prompter } from "../prompter.ts";
import { type Paint, paintFor, visible } from "../render/style.ts";
import { printerOf, settingsOf } from "../session.ts";
import { isSlashLine, readSlashLine } from "../slash-line.ts";

/** The options of `devtool chat`. */
export interface ChatOptions extends ConnectionOptions {
  readonly workspace?: string;
  readonly task?: string;
}

/**
 * `devtool chat`: a conversation in one task, and slash commands of the server in its context. Ctrl-C cancels the turn; a
 * second one leaves.
 */
export async function chat(options: ChatOptions, io: Io): Promise<number> {
  const client = await connect(options, io);
  const session = new ChatSession(client, options, io);
  await session.lookAtCommands();
  using prompter = createPrompter(io, (line) => completeCommand(line, session.commands, ["exit"]));
  const paint = paintFor(io);
  writeLine(io.stdout, paint("dim", WELCOME));
  const conversation = session.conversation(approveByAsking(io, paint, prompter));
  const interrupts = new Interrupts({ client, io, prompter, running: () => session.running });
  await session.open(conversation, interrupts);
  for (;;) {
    const line = await askMessage(prompter, paint, session.signal);
    if (line === undefined || line === "/exit") return ExitCode.OK;
    if (line === "") continue;
    await (isSlashLine(line)
      ? session.command(line, conversation, interrupts)
      : session.say(line, conversation, interrupts));
    if (interrupts.leaving) return ExitCode.CANCELED;
  }
}

const WELCOME =
  "Type a message; end a line with \\ to go on in the next. /help lists commands, Tab completes them, /exit leaves, Ctrl-C cancels a turn.";

/** Asks for a message; a line that ends with a backslash goes on in the next. */
async function askMessage(prompter: Prompter, paint: Paint, signal: AbortSignal): Promise<string | undefined> {
  let message = await prompter.ask(paint("heading", "> "), signal);
  while (message?.endsWith("\\")) {
    const more = await prompter.ask(paint("heading", "… "), signal);
    message = `${message.slice(0, -1)}\n${more ?? ""}`;
  }
  return message;
}

/** One chat: the task of its messages, and the tasks of the commands that are typed between them. */
class ChatSession {
  /** The commands that the server has, as of the last look. */
  commands: readonly SlashCommand[] = [];
  /** The task that is worked on, or was last: that of the messages or that of a command. */
  running: Task = emptyTask();
  /** Aborts never: between turns the end of the input ends the chat. */
  readonly signal: AbortSignal = new AbortController().signal;
  readonly #client: DevtoolClient;
  readonly #options: ChatOptions;
  readonly #io: Io;
  #task: Task = emptyTask();
  #contextId = "";

  constructor(client: DevtoolClient, options: ChatOptions, io: Io) {
    this.#client = client;
    this.#options = options;
    this.#io = io;
  }

  /** How its turns are followed: what is printed is folded into the task that is worked on. */
  conversation(approve: ConversationOptions["approve"]): ConversationOptions {
    const print = printerOf({}, this.#io);
    const onEvent = (event: TaskEvent): void => {
      this.running = reduceTask(this.running, event);
      print(event);
    };
    return { client: this.#client, approve, onEvent, nextId: randomUUID };
  }

  /** Takes up the task that was asked for, with what it waits for. */
  async open(conversation: ConversationOptions, interrupts: Interrupts): Promise<void> {
    if (this.#options.task === undefined) return;
    const { task } = await this.#client.tasks.getTask({ taskId: this.#options.task });
    this.running = task ?? emptyTask();
    this.#keep(await interrupts.during((signal) => answerAll(this.running, conversation, signal)));
  }

  /** Sends a message; `//` at its beginning stands for one slash. */
  async say(line: string, conversation: ConversationOptions, interrupts: Interrupts): Promise<void> {
    const message = textMessage(randomUUID(), line.replace(/^\/\//, "/"));
    const before = this.#task;
    this.running = before;
    const request = { message, taskId: before.id, ...(before.id === "" && this.#where()) };
    this.#keep(await interrupts.during((signal) => converse({ request, before }, conversation, signal)));
    if (isTerminal(this.#task.state)) this.#io.stdout.write("\n");
  }

  /** Runs a slash command in the context of the chat. */
  async command(line: string, conversation: ConversationOptions, interrupts: Interrupts): Promise<void> {
    this.running = emptyTask();
    const task = await interrupts.during(async (signal) => {
      const taskId = await this.#start(line, signal);
      if (taskId === undefined) return this.running;
      return answerAll(await followToRest(taskId, conversation, signal), conversation, signal);
    });
    this.#contextId ||= task.contextId;
    if (task.id !== "") this.#io.stdout.write("\n");
  }

  /** Starts a command and gives its task; undefined when it did not start, and says why. */
  async #start(line: string, signal: AbortSignal): Promise<string | undefined> {
    await this.lookAtCommands();
    const command = readSlashLine(line, this.commands);
    const { result } = await this.#client.commands.runSlashCommand({ command, ...this.#where() }, { signal });
    if (result && result.status !== CommandExecutionStatus.FAILED_TO_START) return result.executionId;
    writeLine(this.#io.stderr, visible(result?.message || "the command did not start"));
    return undefined;
  }

  /** Looks at the commands there are now. A server that cannot tell has none. */
  async lookAtCommands(): Promise<void> {
    const listed = await Promise.resolve(this.#client.commands.getAllSlashCommands(this.#where())).catch(
      () => undefined,
    );
    this.commands = listed?.commands ?? [];
  }

  /** The context of what is sent next: the chat's own, or a new one with the settings of the command line. */
  #where(): { readonly contextId: string } | ReturnType<typeof settingsOf> {
    return this.#contextId === "" ? settingsOf(this.#options.workspace) : { contextId: this.#contextId };
  }

  #keep(task: Task): void {
    this.#task = task;
    this.#contextId ||= task.contextId;
  }
}
