import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type AnswerChanges,
  createTaskView,
  type DevtoolClient,
  type TaskSnapshot,
  type TaskView,
} from "@devtool/client";
import { defined } from "@devtool/internal/json";
import {
  CommandExecutionStatus,
  isAtRest,
  isTerminal,
  MessageDelivery,
  MessageSettingsSchema,
  type Part,
  PartSchema,
  type QueuedMessage,
  type SlashCommand,
} from "@devtool/schema";
import type { ListedModel } from "@devtool/schema/operator";
import { begunTaskId } from "../continued-task.ts";
import { readSlashLine } from "../slash-line.ts";
import type { ForkPoint } from "../user-messages.ts";
import { ChatChoices, type ChatChoicesOptions } from "./chat-choices.ts";
import { Scrollback } from "./scrollback.ts";

/** A task that the chat shows, and how much of it was printed. */
export class ShownTask {
  readonly view: TaskView;
  readonly scrollback: Scrollback = new Scrollback();
  /** The number of calls that have not returned. */
  calls = 0;
  /** Aborts when the turn is abandoned. */
  #turn = new AbortController();

  constructor(view: TaskView) {
    this.view = view;
  }

  /** Runs a call. Throws `AbandonedTurn` when the turn is abandoned. */
  async during(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#turn;
    this.calls++;
    try {
      await work(signal);
    } catch (reason) {
      throw signal.aborted ? new AbandonedTurn() : reason;
    } finally {
      this.calls--;
    }
  }

  /** Stops waiting for the turn, which goes on at the server. */
  abandon(): void {
    this.#turn.abort();
    this.#turn = new AbortController();
  }

  /** Returns whether a message waits in the queue of the task. */
  isQueued(messageId: string): boolean {
    const { queuedMessages } = this.view.snapshot().task;
    return queuedMessages.some(
      ({ message }) => message?.messageId === messageId,
    );
  }

  /** Returns whether the log has a message that the agent has taken. */
  hasTaken(messageId: string): boolean {
    const { history } = this.view.snapshot().task;
    return history.some((message) => message.messageId === messageId);
  }
}

/** The user does not wait for a turn any more. */
export class AbandonedTurn extends Error {}

/** Dependencies of `ChatTasks`. */
interface ChatTasksOptions extends ChatChoicesOptions {
  readonly client: DevtoolClient;
  /** Called after each change of a task that is shown. */
  readonly onChange: () => void;
  /** Called with an error that ends the reading of a task. */
  readonly onProblem: (reason: unknown) => void;
}

/** The name of this program in the log of a task. */
const CLIENT_LABEL = "devtool chat";

/** Timeout of a cancellation in milliseconds. */
const CANCEL_MS = 10_000;

/**
 * The tasks of a chat: that of its messages, and that of the running slash
 * command.
 */
export class ChatTasks {
  /** The server's slash commands, as last listed. */
  commands: readonly SlashCommand[] = [];
  /** The task of the messages. */
  conversation: ShownTask;
  /** The task of the last slash command, while it runs. */
  command: ShownTask | undefined;
  /** The model and the approval mode of the next messages. */
  readonly choices: ChatChoices;
  /**
   * Where the next message leaves the conversation that a new one goes on with;
   * undefined for none, and without effect once the message has a task.
   */
  fork: ForkPoint | undefined;
  readonly #options: ChatTasksOptions;
  #contextId = "";
  #reading = new AbortController();

  constructor(options: ChatTasksOptions) {
    this.#options = options;
    this.choices = new ChatChoices(
      options,
      () => this.conversation.view.snapshot().task,
    );
    this.conversation = this.#show(undefined);
  }

  /** The task of the running command, or else that of the messages. */
  get current(): TaskSnapshot {
    return (this.command ?? this.conversation).view.snapshot();
  }

  /**
   * Whether the agent works: a message is being sent, or a turn or a command
   * runs.
   */
  get isWorking(): boolean {
    if (this.conversation.calls > 0 || this.command !== undefined) return true;
    const { task, questions } = this.current;
    const isRunning = task.sequence > 0n && !isAtRest(task.state);
    return isRunning && questions.length === 0;
  }

  /**
   * Whether a message that leaves another conversation is on its way. The next
   * one waits, and leaves it instead if that one is refused.
   */
  get isForking(): boolean {
    const { calls, view } = this.conversation;
    return (
      this.fork !== undefined && calls > 0 && view.snapshot().task.id === ""
    );
  }

  /** The messages that wait at the server. */
  get queued(): readonly QueuedMessage[] {
    return this.conversation.view.snapshot().task.queuedMessages;
  }

  /** The texts that were sent, and that the task does not have yet. */
  get unsent(): readonly string[] {
    return this.conversation.view
      .snapshot()
      .unsent.flatMap(({ parts: [first] }) =>
        first?.content.case === "text" ? [first.content.value] : [],
      );
  }

  /**
   * Continues another task, or begins a new conversation. What was sent to the
   * task before goes on.
   */
  open(taskId: string | undefined): void {
    this.#reading.abort();
    this.#reading = new AbortController();
    this.#contextId = "";
    this.fork = undefined;
    this.conversation = this.#show(taskId);
    this.#options.onChange();
  }

  /** Stops reading the tasks, which go on at the server. */
  close(): void {
    this.#reading.abort();
    this.abandon();
  }

  /**
   * Sends a message under a new id. Resolves at the end of its exchange. While
   * the agent works, the message is queued. Rejects with `AbandonedTurn` if the
   * turn is abandoned first.
   */
  async say(
    parts: readonly Part[],
    delivery: MessageDelivery,
    messageId: string = crypto.randomUUID(),
  ): Promise<void> {
    const { conversation } = this;
    const { view } = conversation;
    const isNew = view.snapshot().task.id === "";
    const fork = isNew ? this.fork : undefined;
    const messageSettings = create(
      MessageSettingsSchema,
      defined({ delivery, clientLabel: CLIENT_LABEL, fork }),
    );
    const settings =
      isNew && !fork ? this.choices.forNewSession() : this.choices.changes();
    // A command may have had a context before the fork has its own.
    if (fork) this.#contextId = "";
    const contextId = isNew ? this.#contextId : "";
    await this.#during(conversation, (signal) =>
      view.send(
        {
          message: { messageId, parts: [...parts] },
          messageSettings,
          contextId,
          ...settings,
        },
        signal,
      ),
    );
    if (conversation === this.conversation) {
      this.#contextId ||= view.snapshot().task.contextId;
    }
  }

  /**
   * Runs a slash command in the context of the chat. Throws an error with the
   * reason if it does not start.
   */
  async run(line: string): Promise<void> {
    await this.#during(this.conversation, async (signal) => {
      await this.listCommands(signal);
      const command = readSlashLine(line, this.commands);
      const contextId = this.#currentContextId;
      const where =
        contextId === ""
          ? this.choices.forNewSession()
          : { contextId, ...this.choices.changes() };
      const { result } = await this.#options.client.commands.runSlashCommand(
        { command, ...where },
        { signal },
      );
      if (
        result?.status === CommandExecutionStatus.FAILED_TO_START ||
        !result
      ) {
        throw new Error(result?.message || "the command did not start");
      }
      this.command = this.#show(result.executionId);
      const { view } = this.command;
      await waitFor(view, ({ task }) => isTerminal(task.state), signal);
      this.#contextId ||= view.snapshot().task.contextId;
      if (
        command.commandPath[0] === "goal" &&
        this.conversation.view.snapshot().task.id === ""
      ) {
        await this.#openBegun(signal);
      }
    });
  }

  /** Continues the task that `/goal` has begun, if it has. */
  async #openBegun(signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const begun = await begunTaskId(client, this.#contextId, signal);
    if (begun !== undefined) this.conversation = this.#show(begun);
  }

  /**
   * Lists the server's slash commands again: none if the server cannot list
   * them.
   */
  async listCommands(signal: AbortSignal): Promise<void> {
    const contextId = this.#currentContextId;
    const where =
      contextId === "" ? this.choices.forNewSession() : { contextId };
    const listed = await this.#options.client.commands
      .getAllSlashCommands(where, { signal })
      .catch(() => undefined);
    this.commands = listed?.commands ?? [];
  }

  /**
   * Lists the models that messages can choose: none for a server without such
   * lists. Throws when the agent cannot list them.
   */
  async listModels(signal: AbortSignal): Promise<readonly ListedModel[]> {
    const { agent } = this.choices;
    try {
      return (
        await this.#options.client.agents.listModels({ agent }, { signal })
      ).models;
    } catch (reason) {
      if (ConnectError.from(reason).code === Code.Unimplemented) return [];
      throw reason;
    }
  }

  /** Forgets the command that ran, if it has ended. */
  forgetEnded(): void {
    if (this.command && isTerminal(this.command.view.snapshot().task.state)) {
      this.command = undefined;
    }
  }

  /** Answers an open question of the current task. */
  async answer(
    toolCallId: string,
    optionId: string,
    changes: AnswerChanges,
  ): Promise<void> {
    const shown = this.command ?? this.conversation;
    const isEdited = changes.newContent !== undefined;
    shown.scrollback.noteAnswer(toolCallId, isEdited ? "edited" : "as asked");
    await this.#during(shown, (signal) =>
      shown.view.answer(toolCallId, optionId, signal, changes),
    );
  }

  /** Sends parts that answer open questions of the current task. */
  async answerWith(parts: readonly Part[]): Promise<void> {
    const shown = this.command ?? this.conversation;
    for (const { content } of parts) {
      if (content.case !== "confirmation") continue;
      shown.scrollback.noteAnswer(content.value.toolCallId, "unprinted");
    }
    await this.#during(shown, (signal) =>
      shown.view.send({ message: { parts: [...parts] } }, signal),
    );
  }

  /**
   * Cancels the current task, as soon as it has the messages that are on their
   * way. Resolves when it has ended. Returns false if no message has started
   * it. Throws why the server did not cancel it.
   */
  async cancel(): Promise<boolean> {
    const { view } = this.command ?? this.conversation;
    const limit = AbortSignal.timeout(CANCEL_MS);
    try {
      await waitFor(view, ({ unsent }) => unsent.length === 0, limit);
      const { task } = view.snapshot();
      if (task.id === "") return false;
      if (!isTerminal(task.state)) await view.cancel(limit);
      return true;
    } catch (reason) {
      if (isTerminal(view.snapshot().task.state)) return true;
      throw limit.aborted
        ? new Error(`the server has not answered for ${CANCEL_MS / 1000} s`)
        : reason;
    } finally {
      this.abandon();
    }
  }

  /** Stops waiting for the current turn, which goes on at the server. */
  abandon(): void {
    this.conversation.abandon();
    this.command?.abandon();
  }

  /** Takes a queued message back from the server. */
  async withdraw(messageId: string): Promise<void> {
    const { conversation } = this;
    const { id: taskId } = conversation.view.snapshot().task;
    await conversation.during(async (signal) => {
      await this.#options.client.tasks.withdrawMessage(
        { taskId, messageId },
        { signal },
      );
    });
  }

  async #during(
    shown: ShownTask,
    work: (signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const running = shown.during(work);
    this.#options.onChange();
    try {
      await running;
    } finally {
      this.#options.onChange();
    }
  }

  /**
   * The context id that the last exchange gave, or else that of the
   * conversation which is continued; empty before there is one.
   */
  get #currentContextId(): string {
    return this.#contextId || this.conversation.view.snapshot().task.contextId;
  }

  #show(taskId: string | undefined): ShownTask {
    const view = createTaskView(
      this.#options.client,
      defined({ taskId, clientLabel: CLIENT_LABEL }),
    );
    view.subscribe(this.#options.onChange);
    view.follow(this.#reading.signal).catch(this.#options.onProblem);
    return new ShownTask(view);
  }
}

/** Returns a part with a text of the user. */
export function textPart(text: string): Part {
  return create(PartSchema, { content: { case: "text", value: text } });
}

/** Returns the text of a message that waits at the server. */
export function queuedText({ message }: QueuedMessage): string {
  const content = message?.parts[0]?.content;
  return content?.case === "text" ? content.value : "";
}

/**
 * The delivery of a message that is queued, and of one that is taken before the
 * next step of the turn.
 */
export const DELIVERY = {
  queue: MessageDelivery.QUEUE,
  steer: MessageDelivery.STEER,
} as const;

/**
 * Waits until a task is as asked. Throws its error, and when the signal aborts.
 */
async function waitFor(
  view: TaskView,
  isMet: (snapshot: TaskSnapshot) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const check = (): void => {
    const snapshot = view.snapshot();
    if (isMet(snapshot)) {
      resolve();
    } else if (snapshot.error) {
      reject(snapshot.error);
    }
  };
  const abort = (): void => reject(signal.reason);
  const unsubscribe = view.subscribe(check);
  signal.addEventListener("abort", abort, { once: true });
  try {
    check();
    await promise;
  } finally {
    unsubscribe();
    signal.removeEventListener("abort", abort);
  }
}
