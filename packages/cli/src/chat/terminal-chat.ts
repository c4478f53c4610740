import { join } from "node:path";
import { Writable } from "node:stream";
import type { Approver } from "../approval.ts";
import type { ChatDependencies, ChatOptions } from "../chat-options.ts";
import { defaultDataDirectory } from "../connection/discovery.ts";
import { continuedTaskId } from "../continued-task.ts";
import { ArgumentsEditor } from "../edit-arguments.ts";
import { editText } from "../editor.ts";
import { userMessage } from "../error-text.ts";
import { ExitCode } from "../exit-code.ts";
import { headline } from "../headline.ts";
import { type Io, writeLine } from "../io.ts";
import { screenSize } from "../render/gutter.ts";
import { type LineStyle, paintFor, visible } from "../render/style.ts";
import { createAnswering } from "../session.ts";
import { shortTaskId } from "../task-id.ts";
import { Bell } from "../terminal/bell.ts";
import { Terminal } from "../terminal/terminal.ts";
import { forkPoint } from "../user-messages.ts";
import { Chat } from "./chat.ts";
import { ChatCompleter } from "./chat-completer.ts";
import { ChatStatus } from "./chat-status.ts";
import { ChatTasks } from "./chat-tasks.ts";
import { breakBetween, wrapLine } from "./entry.ts";
import type { InkTerminal } from "./ink-terminal.tsx";
import { type InputHistory, readInputHistory } from "./input-history.ts";
import { nextMode, runLocal } from "./local-actions.ts";
import { localWorkspace } from "./mention.ts";
import type { Timers } from "./question-keys.ts";
import {
  EMPTY_SCREEN,
  type Screen,
  type ScreenSize,
  screenOf,
} from "./screen.ts";
import { ScreenStore } from "./screen-store.ts";

/**
 * Chats at a terminal that can move its cursor, and draws with `Ink`. Returns
 * the exit code of the command.
 */
export async function terminalChat(
  options: ChatDependencies,
  Ink: typeof InkTerminal,
): Promise<number> {
  const { data = defaultDataDirectory(options.io.env) } = options.options;
  const problems: string[] = [];
  const history = await readInputHistory(
    join(data, "chat-history.jsonl"),
  ).catch((reason: unknown) => {
    problems.push(userMessage(reason));
    return NO_HISTORY;
  });
  const { info } = options.connection.address;
  const workspace = await localWorkspace(info, options.options.workspace);
  return new TerminalChat(options, Ink, history, workspace).run(problems);
}

const NO_HISTORY: InputHistory = { messages: [], add: () => Promise.resolve() };
const WELCOME =
  "Type a message. /help lists keys and commands, Tab completes them, Esc interrupts, /quit leaves.";
/** What the bell knows the user's next message by. */
const MESSAGE = "a message";
const NEVER: AbortSignal = new AbortController().signal;

const TIMERS: Timers = {
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};

/** A chat, its terminal, and the server at the other end. */
class TerminalChat {
  readonly #options: ChatDependencies;
  readonly #terminal: Terminal;
  readonly #store: ScreenStore;
  /** Keeps the terminal from other readers until the chat ends. */
  readonly #held: Disposable;
  readonly #ink: InkTerminal;
  readonly #tasks: ChatTasks;
  readonly #chat: Chat;
  readonly #status: ChatStatus;
  readonly #bell: Bell;
  /** The workspace on this machine; undefined if it is on another one. */
  readonly #workspace: string | undefined;
  readonly #left = Promise.withResolvers<void>();
  /** The question that the terminal draws, or has drawn. */
  #drawing: unknown;

  constructor(
    options: ChatDependencies,
    Ink: typeof InkTerminal,
    history: InputHistory,
    workspace: string | undefined,
  ) {
    const { connection, io } = options;
    const { client, address } = connection;
    this.#options = options;
    this.#workspace = workspace;
    this.#terminal = new Terminal(io);
    this.#bell = new Bell(() => this.#terminal.out.write("\u0007"), MESSAGE);
    this.#store = new ScreenStore({
      draw: () => this.#draw(),
      first: EMPTY_SCREEN,
    });
    const onChange = this.#store.change;
    this.#tasks = new ChatTasks({
      client,
      session: options.options,
      operatorMode: address.info?.approvalMode,
      agents: options.agents,
      onChange,
      onProblem: (reason) => this.#chat.printout.tellProblem(reason),
    });
    this.#status = new ChatStatus(this.#tasks, address, onChange);
    const actions = {
      client,
      workspace: this.#workspace ?? "",
      write: (sequence: string) => void this.#terminal.out.write(sequence),
      clearScreen: () => this.#ink.clear(),
      onChange,
    };
    const edits = new ArgumentsEditor(io);
    const completer = new ChatCompleter(this.#tasks, this.#workspace);
    this.#chat = new Chat({
      tasks: this.#tasks,
      history,
      timers: TIMERS,
      approve: automaticApprover(options.options, io, (text) =>
        this.#chat.printout.tell(text),
      ),
      workspace: this.#workspace,
      style: () => this.#style,
      isServerGone: connection.isServerGone,
      edit: (text, name) => this.#ink.lend(() => editText(text, name, io)),
      editArguments: (call) => this.#ink.lend(() => edits.edit(call)),
      complete: (before) => completer.complete(before),
      runLocal: (command) => runLocal(this.#chat, command, actions),
      nextMode: () => nextMode(this.#chat),
      onChange,
    });
    this.#welcome();
    this.#store.begin();
    // Before the prompt is drawn, so that the terminal echoes no key, and
    // Ctrl-D does not end the input.
    this.#held = this.#terminal.hold();
    this.#ink = new Ink(this.#terminal, this.#store, io, this.#style.paint);
  }

  /** Prints whom the user talks to, and how. */
  #welcome(): void {
    const { connection, options, agents } = this.#options;
    const { paint, columns } = this.#style;
    const first = visible(headline(connection.address, options, agents));
    const lines = [...breakBetween(first, " · ", columns), WELCOME].flatMap(
      (line) => wrapLine(line, columns),
    );
    this.#chat.printout.tellLines(lines.map((line) => paint("dim", line)));
  }

  /** Chats until the user leaves. Returns the exit code of the command. */
  async run(problems: readonly string[]): Promise<number> {
    const { connection, options, io, onNotice } = this.#options;
    const chat = this.#chat;
    using _held = this.#held;
    this.#terminal.listen((input) => {
      this.#bell.noteInput();
      chat.take(input);
    });
    const stop = io.onInterrupt(() => chat.interrupt());
    onNotice((text) => chat.printout.tell(text));
    for (const problem of problems) chat.printout.tell(problem);
    try {
      const listing = this.#tasks.listCommands(NEVER).then(this.#store.change);
      const taskId = await continuedTaskId(
        connection.client,
        { ...options, workspace: this.#workspace },
        NEVER,
      );
      const { client } = connection;
      this.#tasks.fork = await forkPoint(client, taskId, options, NEVER);
      if (taskId !== undefined && !this.#tasks.fork) this.#tasks.open(taskId);
      await Promise.all([listing, this.#left.promise]);
      return chat.left === "during a turn" ? ExitCode.CANCELED : ExitCode.OK;
    } finally {
      stop();
      await this.#ink.end();
      this.#tasks.close();
      const { id } = this.#tasks.conversation.view.snapshot().task;
      const hint = this.#style.paint(
        "dim",
        `· continue with: devtool chat --task ${visible(shortTaskId(id))}`,
      );
      if (id !== "") writeLine(io.stdout, hint);
    }
  }

  /** Updates the chat, and returns its screen. */
  #draw(): Screen {
    const chat = this.#chat;
    chat.refresh();
    if (chat.left !== "not") this.#left.resolve();
    const isWorking = chat.turn.startedAt !== undefined;
    this.#bell.update(chat.asking.call ?? (isWorking ? undefined : MESSAGE));
    const screen = screenOf(
      chat,
      this.#status.now(this.#workspace),
      this.#size,
      this.#style,
    );
    const { call, keys } = chat.asking;
    const drawing = keys.isDrawn ? undefined : call;
    if (drawing !== undefined && drawing !== this.#drawing) {
      void this.#ink.whenDrawn(() => {
        this.#drawing = undefined;
        if (chat.asking.call === call) keys.drawn();
      });
    }
    this.#drawing = drawing;
    return screen;
  }

  get #style(): LineStyle {
    return { paint: paintFor(this.#options.io), columns: this.#size.columns };
  }

  get #size(): ScreenSize {
    const { columns, rows } = screenSize(this.#options.io.stdout);
    return { columns: columns || 80, rows: rows || 24 };
  }
}

/**
 * Creates the approver that answers questions in place of the user, according
 * to `--approve`; undefined if the user is asked.
 */
function automaticApprover(
  { approve = "ask", approveWithoutSandbox }: ChatOptions,
  io: Io,
  tell: (text: string) => void,
): Approver | undefined {
  if (approve === "ask") return undefined;
  // The lines of the approver are notices of the chat.
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      tell(String(chunk).trimEnd());
      done();
    },
  });
  const how =
    approveWithoutSandbox === undefined
      ? { approve }
      : { approve, approveWithoutSandbox };
  return createAnswering(how, { ...io, stderr }, undefined).approve;
}
