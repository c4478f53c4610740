import { create, type JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { abortable } from "@devtool/internal/abortable";
import {
  isAtRest,
  isTerminal,
  OPTION_MODIFY_ARGUMENTS,
  PartSchema,
  type SendMessageRequest,
} from "@devtool/schema";
import { confirmationPart, modifiedArgumentsPart } from "../confirmation.ts";
import type { DevtoolClient } from "../devtool-client.ts";
import type { ResumeOptions } from "../resume.ts";
import { Listeners } from "./listeners.ts";
import { type Schedule, scheduleFrame } from "./schedule.ts";
import {
  addressRequest,
  createSendRequest,
  type MessageContent,
  type SendOptions,
} from "./send-request.ts";
import { type ReadingStart, TaskReader } from "./task-reader.ts";
import { SnapshotFold, type TaskSnapshot } from "./task-snapshot.ts";

/**
 * Options of `createTaskView`. A view tries to reconnect without end, unless
 * `maxAttempts` is set.
 */
export interface TaskViewOptions
  extends Omit<ResumeOptions, "onLost">,
    SendOptions {
  /**
   * The task to show.
   *
   * Default: a new task, which the first message starts.
   */
  readonly taskId?: string;
  /**
   * What to read of the task first: its log, from the first event on, or the
   * task as it is (`GetTask`), which has far fewer bytes if the agent has
   * written much. `task` is for devtool's own services, over Connect and gRPC:
   * over A2A, a task has less than its log.
   *
   * Default: `log`.
   */
  readonly startWith?: ReadingStart;
  /**
   * When listeners are notified of changes.
   *
   * Default: with the next animation frame in a browser, as the next macrotask
   * elsewhere.
   */
  readonly schedule?: Schedule;
}

/**
 * A view of one task, for user interfaces: what the task is now, and how to act
 * on it.
 *
 * `subscribe` and `snapshot` have the form of React's `useSyncExternalStore`,
 * and need no `this`.
 */
export interface TaskView {
  /**
   * Calls a function after each change of the snapshot. Returns a function that
   * unsubscribes it.
   */
  subscribe(listener: () => void): () => void;
  /**
   * Returns what the view shows. It is the same object until listeners are
   * notified again.
   */
  snapshot(): TaskSnapshot;
  /**
   * Reads the task, including the changes that other clients make, until the
   * signal aborts. A lost connection is restored, and the log is read on after
   * the last event.
   *
   * A task that has ended is read on with the next message that this view
   * sends, or when `follow` is called again. Resolves when the signal aborts.
   * Rejects with errors that a retry cannot fix.
   */
  follow(signal: AbortSignal): Promise<void>;
  /**
   * Sends a text, or a request to `SendMessage` whose `messageId` may be
   * missing. It continues the task, or starts one. A message waits until the
   * one before it has an event or an error, and then in the queue of the task
   * if that one works.
   *
   * Resolves when the exchange has ended: when the agent has finished, or waits
   * for the user. Rejects with `Code.InvalidArgument` for a message that cannot
   * be encoded, with `Code.Aborted` for one that was queued when the task was
   * canceled or has failed, and with other errors that a retry cannot fix. When
   * the signal aborts, it rejects with the signal's reason; the agent keeps
   * working on what it has received.
   */
  send(content: MessageContent, signal: AbortSignal): Promise<void>;
  /**
   * Answers one of `questions` as the snapshot shows it; see
   * `confirmationPart`. With the option `modify_arguments`, the call asks again
   * with other arguments; see `modifiedArgumentsPart`. Resolves as `send` does.
   *
   * Rejects with `Code.FailedPrecondition` if the snapshot has no such question
   * or the call asks about something else by then, with `Code.InvalidArgument`
   * if the question does not offer the option or `changes` do not go with it,
   * and otherwise as `send` does.
   */
  answer(
    toolCallId: string,
    optionId: string,
    signal: AbortSignal,
    changes?: AnswerChanges,
  ): Promise<void>;
  /**
   * Cancels the task. Resolves when the snapshot shows that it has ended.
   *
   * Rejects with `Code.FailedPrecondition` if no message has started the task
   * yet, and with the error of the server, for instance for a task that has
   * ended. The request is not repeated after a lost connection.
   */
  cancel(signal: AbortSignal): Promise<void>;
  /**
   * Gives the task another title: at most 80 characters on one line. The task
   * may have ended. Resolves when the snapshot shows the title.
   *
   * Rejects with `Code.FailedPrecondition` if no message has started the task
   * yet, and with the error of the server: `Code.InvalidArgument` for a title
   * that it refuses, `Code.Unimplemented` over A2A. The request is not repeated
   * after a lost connection.
   */
  rename(title: string, signal: AbortSignal): Promise<void>;
}

/**
 * The content of an answer beside its option.
 */
export interface AnswerChanges {
  /**
   * Replaces the content that the call proposes to write to a file.
   */
  readonly newContent?: string;
  /**
   * Replaces all arguments of the call. Required for the option
   * `modify_arguments`, and for no other.
   */
  readonly modifiedArguments?: JsonObject;
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
export function createTaskView(
  client: DevtoolClient,
  options: TaskViewOptions = {},
): TaskView {
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
  readonly #fold: SnapshotFold;
  #reading: Reading | undefined;
  #snapshot: TaskSnapshot;
  /**
   * Resolves when each message that was sent has an event, or will have none.
   */
  #begun = Promise.resolve();

  constructor(client: DevtoolClient, options: TaskViewOptions) {
    const {
      taskId,
      schedule = scheduleFrame,
      maxAttempts = Number.POSITIVE_INFINITY,
    } = options;
    this.#client = client;
    this.#options = options;
    this.#listeners = new Listeners(schedule, () => {
      this.#snapshot = this.#fold.take();
    });
    this.#fold = new SnapshotFold(() => this.#listeners.change());
    this.#reader = new TaskReader(
      client,
      taskId,
      { ...options, maxAttempts },
      {
        onTask: (task) => this.#fold.start(task),
        onEvent: (event) => this.#fold.add(event),
        onSent: (message, next) => this.#fold.addMessage(message, next),
        onLost: (error) => this.#fold.setLost(error),
      },
    );
    this.#snapshot = this.#fold.take();
  }

  // React calls both without the view.
  readonly subscribe = (listener: () => void): (() => void) =>
    this.#listeners.add(listener);

  readonly snapshot = (): TaskSnapshot => this.#snapshot;

  async follow(signal: AbortSignal): Promise<void> {
    this.#reader.readAgain();
    try {
      await this.#whileReading(() => new Promise<void>(() => {}), signal);
    } catch (reason) {
      if (!signal.aborted) throw reason;
    }
  }

  async send(content: MessageContent, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const request = createSendRequest(content, this.#options);
    const { message } = request;
    if (message) this.#fold.addUnsent(message);
    const before = this.#begun;
    const begun = Promise.withResolvers<void>();
    this.#begun = begun.promise;
    const left = new AbortController();
    const sender = AbortSignal.any([signal, left.signal]);
    try {
      await this.#whileReading(async () => {
        await before;
        sender.throwIfAborted();
        await this.#deliver(request, begun.resolve, sender);
      }, signal);
    } finally {
      left.abort();
      void before.then(begun.resolve);
      if (message) this.#fold.removeUnsent(message);
      this.#listeners.flush();
    }
  }

  /**
   * Sends a message to the task as it is now, or as the first one of a new task.
   */
  #deliver(
    request: SendMessageRequest,
    onBegin: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { taskId } = this.#reader;
    const addressed = addressRequest(request, taskId, this.#options);
    const { task } = this.#fold;
    if (task.sequence === 0n || isAtRest(task.state)) {
      return this.#reader.send(addressed, onBegin, signal);
    }
    onBegin();
    return this.#reader.queue(addressed, signal);
  }

  async answer(
    toolCallId: string,
    optionId: string,
    signal: AbortSignal,
    changes: AnswerChanges = {},
  ): Promise<void> {
    const call = this.#snapshot.questions.find(
      (asked) => asked.toolCallId === toolCallId,
    );
    if (!call) {
      throw new ConnectError(
        `tool call "${toolCallId}" does not wait for an answer`,
        Code.FailedPrecondition,
      );
    }
    const { text = "", newContent, modifiedArguments } = changes;
    const isEdit = optionId === OPTION_MODIFY_ARGUMENTS;
    // Arguments with another option would be lost.
    if (
      isEdit !== (modifiedArguments !== undefined) ||
      (isEdit && newContent !== undefined)
    ) {
      const problem = `option "${OPTION_MODIFY_ARGUMENTS}" and modifiedArguments go together, without newContent`;
      throw new ConnectError(problem, Code.InvalidArgument);
    }
    const part = modifiedArguments
      ? modifiedArgumentsPart(call, modifiedArguments)
      : confirmationPart(call, optionId, newContent);
    const parts = [part];
    if (text !== "") {
      parts.push(
        create(PartSchema, { content: { case: "text", value: text } }),
      );
    }
    await this.send({ message: { parts } }, signal);
  }

  async cancel(signal: AbortSignal): Promise<void> {
    const { taskId } = this.#reader;
    if (taskId === "") {
      throw new ConnectError(
        "there is no task to cancel",
        Code.FailedPrecondition,
      );
    }
    try {
      await this.#whileReading(async () => {
        await this.#client.tasks.cancelTask({ taskId }, { signal });
        while (!isTerminal(this.#fold.task.state)) {
          await this.#reader.exchangeEnd(this.#fold.task.sequence);
        }
      }, signal);
    } finally {
      this.#listeners.flush();
    }
  }

  async rename(title: string, signal: AbortSignal): Promise<void> {
    const { taskId } = this.#reader;
    if (taskId === "") {
      throw new ConnectError(
        "there is no task to rename",
        Code.FailedPrecondition,
      );
    }
    const { clientLabel = "" } = this.#options;
    const { task } = await this.#client.tasks.renameTask(
      { taskId, title, clientLabel },
      { signal },
    );
    if (task) this.#fold.setTitle(task);
    this.#listeners.flush();
  }

  /**
   * Runs the reader while some work is done, or until the signal aborts. Throws
   * the reader's error.
   */
  async #whileReading(
    work: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<void> {
    const reading = this.#reading ?? this.#startReading();
    reading.holders++;
    try {
      await abortable(Promise.race([work(), reading.ended]), signal);
    } finally {
      reading.holders--;
      if (reading.holders === 0) {
        reading.controller.abort();
        // A run that failed may have been replaced by another one.
        const isCurrent = this.#reading === reading;
        if (isCurrent) this.#reading = undefined;
        if (isCurrent) this.#fold.setLost(undefined);
      }
    }
  }

  #startReading(): Reading {
    const controller = new AbortController();
    this.#fold.setError(undefined);
    const ended = this.#reader
      .run(controller.signal)
      .catch((reason: unknown) => {
        if (controller.signal.aborted) return;
        this.#reading = undefined;
        this.#fold.setError(ConnectError.from(reason));
        this.#listeners.flush();
        throw reason;
      });
    this.#reading = { controller, ended, holders: 0 };
    return this.#reading;
  }
}
