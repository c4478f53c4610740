import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type AgentSettingsSchema,
  emptyTask,
  isTerminal,
  type Message,
  MessageSettingsSchema,
  type Notice,
  PartSchema,
  Role,
  reduceTask,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type SessionSettingsSchema,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import { defined } from "@devtool/schema/json";
import { type AskedToolCall, confirmationPart, pendingToolCalls, textMessage } from "../confirmation.ts";
import type { DevtoolClient } from "../devtool-client.ts";
import type { ResumeOptions } from "../resume.ts";
import { Listeners } from "./listeners.ts";
import { type PlanStep, reducePlan } from "./plan.ts";
import { type Schedule, scheduleFrame } from "./schedule.ts";
import { type TaskItem, TaskItems } from "./task-items.ts";
import { isAtRest, recordedMessage, TaskReader } from "./task-reader.ts";
import { abortable } from "./wait.ts";

/**
 * What a view shows at one moment. Neither it nor anything in it changes.
 */
export interface TaskSnapshot {
  /**
   * The task: its state, usage, settings, queued messages and artifacts. It has no id before the
   * first message was accepted.
   */
  readonly task: Task;
  /**
   * What the user and the agent said and did, in order. Items that have not changed are the same
   * objects as in the snapshot before.
   */
  readonly items: readonly TaskItem[];
  /**
   * The tool calls that wait for the user's answer.
   */
  readonly questions: readonly AskedToolCall[];
  /**
   * The latest plan of the agent. Empty if it has none.
   */
  readonly plan: readonly PlanStep[];
  /**
   * The latest notice about the work, such as a retried request, until something else happens.
   */
  readonly notice: Notice | undefined;
  /**
   * The messages that were given to `send` or `answer` and are not in the task yet.
   */
  readonly unsent: readonly Message[];
  /**
   * Why the connection was lost, while the view tries to restore it; otherwise undefined.
   */
  readonly lost: ConnectError | undefined;
  /**
   * Why reading ended before its time: an error that a retry cannot fix, such as `Code.NotFound`.
   * Undefined while the view reads.
   */
  readonly error: ConnectError | undefined;
}

/**
 * Options of `createTaskView`. A view tries to reconnect without end, unless `maxAttempts` is set.
 */
export interface TaskViewOptions extends Omit<ResumeOptions, "onLost"> {
  /**
   * The task to show.
   *
   * Default: a new task, which the first message starts.
   */
  readonly taskId?: string;
  /**
   * The session of a new task.
   *
   * Default: a new conversation with the settings of the server.
   */
  readonly session?: NewSession;
  /**
   * When listeners are notified of changes.
   *
   * Default: with the next animation frame in a browser, as the next macrotask elsewhere.
   */
  readonly schedule?: Schedule;
  /**
   * What the program calls itself, for people: at most 64 visible characters. It is recorded with
   * each answer, and shown to others.
   *
   * Default: nothing.
   */
  readonly clientLabel?: string;
  /**
   * Creates the ids of messages.
   *
   * Default: `crypto.randomUUID`, which browsers have in secure contexts only.
   */
  readonly nextId?: () => string;
}

/**
 * The session in which a first message starts a task. Fields of the message's own request come
 * before these.
 */
export interface NewSession {
  readonly contextId?: string;
  readonly settings?: MessageInitShape<typeof AgentSettingsSchema>;
  readonly sessionSettings?: MessageInitShape<typeof SessionSettingsSchema>;
}

/**
 * A view of one task, for user interfaces: what the task is now, and how to act on it.
 *
 * `subscribe` and `snapshot` have the form of React's `useSyncExternalStore`, and need no `this`.
 */
export interface TaskView {
  /**
   * Calls a function after each change of the snapshot. Returns the function that ends that.
   */
  subscribe(listener: () => void): () => void;
  /**
   * Returns what the view shows. It is the same object until listeners are notified again.
   */
  snapshot(): TaskSnapshot;
  /**
   * Reads the task, also what other clients make of it, until the signal aborts. A lost connection
   * is restored, and the log is read on after the last event.
   *
   * A task that has ended is read on with the next message that this view sends, or when `follow`
   * is called again. Resolves when the signal aborts. Rejects with errors that a retry cannot fix.
   */
  follow(signal: AbortSignal): Promise<void>;
  /**
   * Sends a text, or a request to `SendMessage` whose `messageId` may be missing. It continues the
   * task, or starts one.
   *
   * Resolves when the exchange has ended: when the agent has finished, or waits for the user. A
   * signal that aborts ends the waiting and not the agent.
   */
  send(content: string | MessageInitShape<typeof SendMessageRequestSchema>, signal: AbortSignal): Promise<void>;
  /**
   * Answers one of `questions` as the snapshot shows it; see `confirmationPart`. Resolves as `send` does.
   */
  answer(toolCallId: string, optionId: string, signal: AbortSignal, changes?: AnswerChanges): Promise<void>;
  /**
   * Cancels the task. Resolves when the snapshot shows that it has ended.
   */
  cancel(signal: AbortSignal): Promise<void>;
  /**
   * Gives the task another title: at most 80 characters on one line. The task may have ended.
   * Resolves when the snapshot shows the title.
   */
  rename(title: string, signal: AbortSignal): Promise<void>;
}

/**
 * What an answer says beside its option.
 */
export interface AnswerChanges {
  /**
   * Replaces the content that the call proposes to write to a file.
   */
  readonly newContent?: string;
  /**
   * Words to the agent, such as the reason why a call is declined.
   */
  readonly text?: string;
}

/**
 * Creates a view of a task, or of a task to come.
 *
 * ```ts
 * const view = createTaskView(client);
 * view.subscribe(() => render(view.snapshot()));
 * await view.send("Fix the failing test.", signal);
 * for (const { toolCallId } of view.snapshot().questions) await view.answer(toolCallId, "proceed_once", signal);
 * ```
 */
export function createTaskView(client: DevtoolClient, options: TaskViewOptions = {}): TaskView {
  return new LogView(client, options);
}

/**
 * A run of the reader: the only one, while anybody follows, sends or cancels.
 */
interface Reading {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
  holders: number;
}

class LogView implements TaskView {
  readonly #client: DevtoolClient;
  readonly #options: TaskViewOptions;
  readonly #listeners: Listeners;
  readonly #reader: TaskReader;
  readonly #items = new TaskItems();
  #reading: Reading | undefined;
  #snapshot: TaskSnapshot;
  #task = emptyTask();
  /**
   * The items of the tasks that this one continues: in A2A 1.0, an ended task goes on in another.
   */
  #earlier: readonly TaskItem[] = [];
  #plan: readonly PlanStep[] = [];
  #notice: Notice | undefined;
  #unsent: readonly Message[] = [];
  #lost: ConnectError | undefined;
  #error: ConnectError | undefined;

  constructor(client: DevtoolClient, options: TaskViewOptions) {
    const { taskId, schedule = scheduleFrame, maxAttempts = Number.POSITIVE_INFINITY } = options;
    this.#client = client;
    this.#options = options;
    this.#listeners = new Listeners(schedule, () => {
      this.#snapshot = this.#takeSnapshot();
    });
    this.#reader = new TaskReader(
      client,
      taskId,
      { ...options, maxAttempts },
      {
        onEvent: (event) => this.#add(event),
        onSent: (message, next) => this.#addMessage(message, next),
        onLost: (error) => this.#setLost(error),
      },
    );
    this.#snapshot = this.#takeSnapshot();
  }

  // React calls both without the view.
  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  readonly snapshot = (): TaskSnapshot => this.#snapshot;

  async follow(signal: AbortSignal): Promise<void> {
    this.#reader.readAgain();
    try {
      await this.#whileReading(() => new Promise<void>(() => {}), signal);
    } catch (reason) {
      if (!signal.aborted) throw reason;
    }
  }

  async send(content: string | MessageInitShape<typeof SendMessageRequestSchema>, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const request = this.#requestOf(content);
    const { message } = request;
    if (message) this.#setUnsent([...this.#unsent, message]);
    const isQueued = this.#task.sequence > 0n && !isAtRest(this.#task);
    const deliver = () => (isQueued ? this.#reader.queue(request, signal) : this.#reader.send(request, signal));
    try {
      await this.#whileReading(deliver, signal);
    } finally {
      this.#setUnsent(this.#unsent.filter((other) => other !== message));
      this.#listeners.flush();
    }
  }

  async answer(
    toolCallId: string,
    optionId: string,
    signal: AbortSignal,
    { newContent, text = "" }: AnswerChanges = {},
  ): Promise<void> {
    const call = this.#snapshot.questions.find((asked) => asked.toolCallId === toolCallId);
    if (!call) {
      throw new ConnectError(`tool call "${toolCallId}" does not wait for an answer`, Code.FailedPrecondition);
    }
    const parts = [confirmationPart(call, optionId, newContent)];
    if (text !== "") parts.push(create(PartSchema, { content: { case: "text", value: text } }));
    await this.send({ message: { parts } }, signal);
  }

  async cancel(signal: AbortSignal): Promise<void> {
    const { taskId } = this.#reader;
    if (taskId === "") throw new ConnectError("there is no task to cancel", Code.FailedPrecondition);
    const cancel = async (): Promise<void> => {
      await this.#client.tasks.cancelTask({ taskId }, { signal });
      while (!isTerminal(this.#task.state)) await this.#reader.exchangeEnd(this.#task.sequence);
    };
    try {
      await this.#whileReading(cancel, signal);
    } finally {
      this.#listeners.flush();
    }
  }

  async rename(title: string, signal: AbortSignal): Promise<void> {
    const { taskId } = this.#reader;
    if (taskId === "") throw new ConnectError("there is no task to rename", Code.FailedPrecondition);
    const { clientLabel = "" } = this.#options;
    const { task } = await this.#client.tasks.renameTask({ taskId, title, clientLabel }, { signal });
    // The event comes later, and not before the next message if the task has ended.
    if (task && task.sequence >= this.#task.sequence) this.#task = { ...this.#task, title: task.title };
    this.#listeners.change();
    this.#listeners.flush();
  }

  #requestOf(content: string | MessageInitShape<typeof SendMessageRequestSchema>): SendMessageRequest {
    const nextId = this.#options.nextId ?? (() => crypto.randomUUID());
    const given = typeof content === "string" ? { message: textMessage(nextId(), content) } : content;
    const request = create(SendMessageRequestSchema, given);
    if (request.message) {
      const { messageId } = request.message;
      request.message = { ...request.message, messageId: messageId || nextId(), role: Role.USER };
    }
    const { clientLabel } = this.#options;
    if (clientLabel !== undefined) {
      const settings = request.messageSettings ?? create(MessageSettingsSchema);
      request.messageSettings = { ...settings, clientLabel: settings.clientLabel || clientLabel };
    }
    request.taskId ||= this.#reader.taskId;
    if (request.taskId !== "") return request;
    const session = create(SendMessageRequestSchema, this.#options.session);
    const { contextId, settings = session.settings, sessionSettings = session.sessionSettings } = request;
    return create(SendMessageRequestSchema, {
      ...request,
      contextId: contextId || session.contextId,
      ...defined({ settings, sessionSettings }),
    });
  }

  /**
   * Runs the reader while some work is done, or until the signal aborts. Throws the reader's error.
   */
  async #whileReading(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const reading = this.#reading ?? this.#startReading();
    reading.holders++;
    try {
      await abortable(Promise.race([work(), reading.ended]), signal);
    } finally {
      reading.holders--;
      if (reading.holders === 0) this.#stopReading(reading);
    }
  }

  #startReading(): Reading {
    const controller = new AbortController();
    this.#setError(undefined);
    const ended = this.#reader.run(controller.signal).catch((reason: unknown) => {
      if (controller.signal.aborted) return;
      this.#reading = undefined;
      this.#setError(ConnectError.from(reason));
      this.#listeners.flush();
      throw reason;
    });
    this.#reading = { controller, ended, holders: 0 };
    return this.#reading;
  }

  #stopReading(reading: Reading): void {
    reading.controller.abort();
    if (this.#reading !== reading) return;
    this.#reading = undefined;
    this.#setLost(undefined);
  }

  #add(event: TaskEvent): void {
    const before = this.#task;
    const isOther = before.id !== "" && before.id !== event.taskId;
    if (isOther) this.#earlier = [...this.#earlier, ...this.#items.list(before)];
    else if (event.sequence <= before.sequence) return;
    this.#task = reduceTask(isOther ? emptyTask() : before, event);
    this.#plan = reducePlan(this.#plan, event);
    this.#notice = event.payload.case === "notice" ? event.payload.value : undefined;
    const recorded = recordedMessage(event)?.messageId;
    this.#setUnsent(this.#unsent.filter(({ messageId }) => messageId !== recorded));
    this.#listeners.change();
  }

  /**
   * Folds a message that the protocol does not show: A2A 0.3 shows the first message of a task only.
   */
  #addMessage(message: Message, next: TaskEvent): void {
    if (this.#task.history.some(({ messageId }) => messageId === message.messageId)) return;
    if (next.sequence <= this.#task.sequence) return;
    const event = { ...next, payload: { case: "message", value: message } } as const;
    this.#add(event);
    this.#task = { ...this.#task, sequence: next.sequence - 1n };
  }

  #setLost(error: ConnectError | undefined): void {
    if (this.#lost === error) return;
    this.#lost = error;
    this.#listeners.change();
  }

  #setError(error: ConnectError | undefined): void {
    if (this.#error === error) return;
    this.#error = error;
    this.#listeners.change();
  }

  #setUnsent(messages: readonly Message[]): void {
    if (messages.length === this.#unsent.length) return;
    this.#unsent = messages;
    this.#listeners.change();
  }

  #takeSnapshot(): TaskSnapshot {
    return {
      task: this.#task,
      items: [...this.#earlier, ...this.#items.list(this.#task)],
      questions: pendingToolCalls(this.#task),
      plan: this.#plan,
      notice: this.#notice,
      unsent: this.#unsent,
      lost: this.#lost,
      error: this.#error,
    };
  }
}
