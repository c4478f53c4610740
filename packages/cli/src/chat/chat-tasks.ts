import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type AnswerChanges,
  createTaskView,
  type DevtoolClient,
  type TaskSnapshot,
  type TaskView,
} from "@devtool/client";
import {
  CommandExecutionStatus,
  isAtRest,
  isTerminal,
  type ListedModel,
  MessageDelivery,
  MessageSettingsSchema,
  type Part,
  PartSchema,
  type QueuedMessage,
  type SlashCommand,
} from "@devtool/schema";
import { defined } from "@devtool/schema/json";
import { readSlashLine } from "../slash-line.ts";
import { ChatChoices, type ChatChoicesOptions } from "./chat-choices.ts";
import { Scrollback } from "./scrollback.ts";

/** A task that the chat shows, and how much of it was printed. */
export interface ShownTask {
  readonly view: TaskView;
  readonly scrollback: Scrollback;
}

/** Dependencies of `ChatTasks`. */
export interface ChatTasksOptions extends ChatChoicesOptions {
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
  /** The number of calls that have not returned. */
  #calls = 0;
  /** The model and the approval mode of the next messages. */
  readonly choices: ChatChoices;
  readonly #options: ChatTasksOptions;
  #contextId = "";
  #reading = new AbortController();
  /** Aborts when the turn is abandoned. */
  #turn = new AbortController();

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

  /** The name of the agent of the session; empty for the server's first. */
  get agent(): string {
    return (
      this.conversation.view.snapshot().task.sessionSettings?.agent ||
      (this.#options.session.agent ?? "")
    );
  }

  /**
   * Whether the agent works: a message is being sent, or a turn or a command
   * runs.
   */
  get isWorking(): boolean {
    if (this.#calls > 0 || this.command !== undefined) return true;
    const { task, questions } = this.current;
    const isRunning = task.sequence > 0n && !isAtRest(task.state);
    return isRunning && questions.length === 0;
  }

  /** The messages that wait at the server. */
  get queued(): readonly QueuedMessage[] {
    return this.conversation.view.snapshot().task.queuedMessages;
  }

  /** Continues another task, or begins a new conversation. */
  open(taskId: string | undefined): void {
    this.#reading.abort();
    this.#reading = new AbortController();
    this.#contextId = "";
    this.conversation = this.#show(taskId);
    this.#options.onChange();
  }

  /** Stops reading the tasks, which go on at the server. */
  close(): void {
    this.#reading.abort();
    this.#turn.abort();
  }

  /**
   * Sends a message. Resolves at the end of its exchange. While the agent
   * works, the message is queued.
   */
  async say(parts: readonly Part[], delivery: MessageDelivery): Promise<void> {
    const { view } = this.conversation;
    const messageSettings = create(MessageSettingsSchema, {
      delivery,
      clientLabel: CLIENT_LABEL,
    });
    const isNew = view.snapshot().task.id === "";
    const settings = isNew
      ? this.choices.forNewSession()
      : this.choices.changes();
    const contextId = isNew ? this.#contextId : "";
    await this.#during((signal) =>
      view.send(
        {
          message: { parts: [...parts] },
          messageSettings,
          contextId,
          ...settings,
        },
        signal,
      ),
    );
    this.#contextId ||= view.snapshot().task.contextId;
  }

  /**
   * Runs a slash command in the context of the chat. Throws an error with the
   * reason if it does not start.
   */
  async run(line: string): Promise<void> {
    await this.#during(async (signal) => {
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
      await waitForEnd(view, signal);
      this.#contextId ||= view.snapshot().task.contextId;
    });
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
    const agent = this.agent;
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
    const { view, scrollback } = this.command ?? this.conversation;
    scrollback.noteAnswer(toolCallId);
    await this.#during((signal) =>
      view.answer(toolCallId, optionId, signal, changes),
    );
  }

  /** Sends parts that answer open questions of the current task. */
  async answerWith(parts: readonly Part[]): Promise<void> {
    const { view } = this.command ?? this.conversation;
    await this.#during((signal) =>
      view.send({ message: { parts: [...parts] } }, signal),
    );
  }

  /**
   * Cancels the current task. Resolves when it has ended. Returns false if
   * there is none yet.
   */
  async cancel(): Promise<boolean> {
    const { view } = this.command ?? this.conversation;
    const hasBegun = view.snapshot().task.id !== "";
    if (hasBegun) {
      await view.cancel(AbortSignal.timeout(CANCEL_MS)).catch(() => undefined);
    }
    this.abandon();
    return hasBegun;
  }

  /** Stops waiting for the current turn, which goes on at the server. */
  abandon(): void {
    this.#turn.abort();
    this.#turn = new AbortController();
  }

  /** Takes a queued message back from the server. */
  async withdraw(messageId: string): Promise<void> {
    const { id: taskId } = this.conversation.view.snapshot().task;
    await this.#options.client.tasks.withdrawMessage(
      { taskId, messageId },
      { signal: this.#turn.signal },
    );
  }

  async #during(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.#turn;
    this.#calls++;
    this.#options.onChange();
    try {
      await work(signal);
    } catch (reason) {
      if (!signal.aborted) throw reason;
    } finally {
      this.#calls--;
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
    return { view, scrollback: new Scrollback() };
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

/** Waits until a task has ended. Throws its error, and when the signal aborts. */
async function waitForEnd(view: TaskView, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const check = (): void => {
    const { task, error } = view.snapshot();
    if (error) {
      reject(error);
    } else if (isTerminal(task.state)) {
      resolve();
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
