import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { abortable } from "@devtool/internal/abortable";
import {
  endsExchange,
  isAtRest,
  isTerminal,
  type Message,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import { assertEncodable } from "../assert-encodable.ts";
import type { DevtoolClient } from "../devtool-client.ts";
import { exchangeLog, taskLog } from "../follow.ts";
import {
  callWithRetry,
  type ResumableLog,
  type ResumeOptions,
  readWithResume,
} from "../resume.ts";
import { ExchangeEnds } from "./exchange-ends.ts";
import { recordedMessage } from "./task-snapshot.ts";
import { TimeSlice } from "./time-slice.ts";
import { WakeUp } from "./wake-up.ts";

/**
 * Time in milliseconds after which a new stream that has not failed counts as
 * connected, even if the task has no new event.
 */
const CONNECTED_AFTER_MS = 2000;

/**
 * Receives the events of a reader.
 */
export interface ReaderHandlers {
  /**
   * Called with the task as it is, before its last event and the events after
   * that, if the reader starts with the task.
   */
  onTask(task: Task): void;
  /**
   * Called with each event of the task, in order and once.
   */
  onEvent(event: TaskEvent): void;
  /**
   * Called with a message that was sent, before the event that follows it, if
   * the protocol does not show the event that records the message.
   */
  onSent(message: Message, next: TaskEvent): void;
  /**
   * Called with the error when the connection is lost, and with undefined when
   * it is restored.
   */
  onLost(error: ConnectError | undefined): void;
}

/**
 * What is read first of a task: the events of its log, or the task as it is.
 */
export type ReadingStart = "log" | "task";

/**
 * A message on its way to the server.
 */
interface Sending {
  readonly request: SendMessageRequest;
  /**
   * Called when the message has an event.
   */
  readonly onBegin: () => void;
  readonly signal: AbortSignal;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * The position of the last event that was read.
 */
interface Position {
  readonly taskId: string;
  readonly sequence: bigint;
}

/**
 * Reads the log of one task over one stream at a time: an exchange while it
 * sends a message, and the log itself otherwise. In A2A 1.0, where another task
 * continues an ended one, it then reads that task.
 */
export class TaskReader {
  readonly #client: DevtoolClient;
  readonly #options: ResumeOptions;
  readonly #handlers: ReaderHandlers;
  readonly #wakeUp = new WakeUp();
  readonly #outbox: Sending[] = [];
  /**
   * Includes events that show nothing. Undefined before the first event of a
   * new task.
   */
  #position: Position | undefined;
  /**
   * The tasks to read after this one, in order.
   */
  readonly #next: { readonly taskId: string; readonly ended: () => void }[] =
    [];
  /**
   * Whether the log was read to the end of an ended task.
   */
  #isAtEnd = false;
  /**
   * Whether the task has taken a message since the present stream was opened,
   * so that the end which the stream shows may not be the last one.
   */
  #isBehind = false;
  /**
   * The message that was sent last, until the next event.
   */
  #sent: Message | undefined;
  readonly #ends = new ExchangeEnds();
  /**
   * The messages whose exchange is awaited, by their ids: called if the agent
   * will not take one.
   */
  readonly #awaited = new Map<string, (reason: ConnectError) => void>();
  #startWith: ReadingStart;

  constructor(
    client: DevtoolClient,
    taskId: string | undefined,
    {
      startWith = "log",
      ...options
    }: Omit<ResumeOptions, "onLost"> & { readonly startWith?: ReadingStart },
    handlers: ReaderHandlers,
  ) {
    this.#startWith = startWith;
    this.#client = client;
    this.#handlers = handlers;
    this.#options = { ...options, onLost: (error) => handlers.onLost(error) };
    if (taskId !== undefined) this.#position = { taskId, sequence: 0n };
  }

  /**
   * The id of the task. Empty before the first message of a new task was
   * accepted.
   */
  get taskId(): string {
    return this.#position?.taskId ?? "";
  }

  /**
   * Reads and sends until the signal aborts. Throws errors that a retry cannot
   * fix, except those of messages, which their senders have.
   */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const next = this.#isAtEnd ? this.#next.shift() : undefined;
      if (next) {
        const { taskId, ended } = next;
        this.#position = { taskId, sequence: 0n };
        this.#isAtEnd = false;
        this.#ends.restart();
        void this.#ends.after(0n).then(ended);
      }
      const sending = this.#outbox.shift();
      if (sending) {
        await this.#exchange(sending, signal);
      } else if (this.#position && !this.#isAtEnd) {
        await this.#readOn(this.#position, signal);
      } else {
        await this.#wakeUp.wait(signal);
      }
    }
  }

  /**
   * Makes the reader read on, even if the task had ended.
   */
  readAgain(): void {
    this.#isAtEnd = false;
    this.#wakeUp.wake();
  }

  /**
   * Sends a message to a task that is not working, or starts one. Resolves at
   * the end of its exchange, after `onBegin` was called with its first event.
   * The reader must run.
   */
  async send(
    request: SendMessageRequest,
    onBegin: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    const done = Promise.withResolvers<void>();
    this.#outbox.push({ request, onBegin, signal, done });
    this.#wakeUp.wake();
    await abortable(this.#untilUntaken(request, done.promise), signal);
  }

  /**
   * Adds a message to the queue of a working task. Resolves at the end of its
   * exchange. The reader must run: its stream shows the exchange, and a second
   * one would show it again.
   */
  async queue(request: SendMessageRequest, signal: AbortSignal): Promise<void> {
    assertEncodable(request);
    await abortable(
      this.#untilUntaken(request, this.#queue(request, signal)),
      signal,
    );
  }

  async #queue(
    request: SendMessageRequest,
    signal: AbortSignal,
  ): Promise<void> {
    const sequence = this.#position?.sequence ?? 0n;
    const immediate = create(SendMessageRequestSchema, {
      ...request,
      returnImmediately: true,
    });
    const { task } = await callWithRetry(
      (limit) => this.#client.tasks.sendMessage(immediate, { signal: limit }),
      this.#options,
      signal,
    );
    // In A2A 1.0, a message to a task that has ended meanwhile starts another,
    // which is read on then.
    if (task && task.id !== "" && task.id !== request.taskId) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#next.push({ taskId: task.id, ended: resolve });
      if (this.#isAtEnd) this.#wakeUp.wake();
      return promise;
    }
    // The turn may have ended before the message arrived, which then began
    // another one: the end of the present stream is not that of the log.
    this.#isBehind = true;
    if (this.#isAtEnd) this.readAgain();
    // The answer may be newer than what was read here, or older.
    const accepted =
      task && task.sequence > sequence ? task.sequence : sequence;
    await this.exchangeEnd(
      task && isAtRest(task.state) ? accepted - 1n : accepted,
    );
  }

  /**
   * Waits for the end of a message's exchange. Throws `Code.Aborted` if the
   * task ends before the agent has taken the message.
   */
  async #untilUntaken(
    { message }: SendMessageRequest,
    ended: Promise<void>,
  ): Promise<void> {
    const untaken = Promise.withResolvers<never>();
    const messageId = message?.messageId ?? "";
    this.#awaited.set(messageId, untaken.reject);
    try {
      await Promise.race([ended, untaken.promise]);
    } finally {
      this.#awaited.delete(messageId);
    }
  }

  /**
   * Resolves when an event after a sequence has ended an exchange.
   */
  exchangeEnd(after: bigint): Promise<void> {
    return this.#ends.after(after);
  }

  /**
   * Reads the log until the task ends, or there is something else to do.
   */
  async #readOn(
    { taskId, sequence }: Position,
    signal: AbortSignal,
  ): Promise<void> {
    const interrupt = AbortSignal.any([signal, this.#wakeUp.signal]);
    this.#isBehind = false;
    try {
      const after =
        this.#startWith === "task" && sequence === 0n
          ? await this.#readTask(taskId, interrupt)
          : sequence;
      const log = this.#observe(taskLog(this.#client, taskId, after));
      for await (const event of readWithResume(log, this.#options, interrupt)) {
        this.#pass(event);
      }
      this.#isAtEnd = !this.#isBehind;
      // An event may follow the one that ended the last exchange.
      this.#ends.reach(this.#position?.sequence ?? 0n);
    } catch (reason) {
      if (!interrupt.aborted) throw reason;
    }
  }

  /**
   * Reads the task as it is. Returns the sequence before its last event, which
   * is read once more: a notice is in the log only.
   */
  async #readTask(taskId: string, signal: AbortSignal): Promise<bigint> {
    const { task } = await callWithRetry(
      (limit) => this.#client.tasks.getTask({ taskId }, { signal: limit }),
      this.#options,
      signal,
    );
    if (!task || task.sequence === 0n) return 0n;
    this.#handlers.onTask(task);
    this.#position = { taskId, sequence: task.sequence - 1n };
    return task.sequence - 1n;
  }

  async #exchange(
    { request, onBegin, signal: sender, done }: Sending,
    signal: AbortSignal,
  ): Promise<void> {
    if (sender.aborted) return;
    const addressed = { ...request, taskId: request.taskId || this.taskId };
    const log = this.#observe(exchangeLog(this.#client, addressed));
    this.#isAtEnd = false;
    this.#isBehind = false;
    // The task does not say which of its events ended the exchange.
    this.#startWith = "log";
    this.#sent = request.message;
    try {
      for await (const event of readWithResume(
        log,
        this.#options,
        AbortSignal.any([signal, sender]),
      )) {
        onBegin();
        if (event.sequence > (this.#position?.sequence ?? 0n)) {
          // Others have added to the task meanwhile, or the protocol shows no
          // messages. The log has what is missing.
          void this.#ends.after(event.sequence - 1n).then(done.resolve);
          return;
        }
        this.#pass(event);
        this.#isAtEnd =
          isTerminal(event.state) && endsExchange(event) && !this.#isBehind;
      }
      done.resolve();
    } catch (reason) {
      this.#sent = undefined;
      this.#handlers.onLost(undefined);
      done.reject(reason);
    }
  }

  /**
   * Returns a log that records its position, and whether it is connected. Other
   * work runs between its events.
   */
  #observe(log: ResumableLog): ResumableLog {
    const { onLost } = this.#handlers;
    // Moves the position to an event that follows it.
    const advance = ({ taskId, sequence }: TaskEvent): void => {
      const isOther = this.#position?.taskId !== taskId;
      if (isOther) this.#ends.restart();
      if (isOther || sequence === (this.#position?.sequence ?? 0n) + 1n) {
        this.#position = { taskId, sequence };
      }
    };
    return {
      ...log,
      open: async function* (last, signal) {
        const slice = new TimeSlice();
        const connected = setTimeout(
          () => onLost(undefined),
          CONNECTED_AFTER_MS,
        );
        try {
          for await (const event of log.open(last, signal)) {
            clearTimeout(connected);
            onLost(undefined);
            advance(event);
            yield event;
            if (slice.isOver()) await slice.next();
          }
        } finally {
          clearTimeout(connected);
        }
      },
    };
  }

  #pass(event: TaskEvent): void {
    if (this.#sent && !recordedMessage(event)) {
      this.#handlers.onSent(this.#sent, event);
    }
    this.#sent = undefined;
    this.#handlers.onEvent(event);
    if (event.payload.case === "stateChange") {
      for (const messageId of event.payload.value.untakenMessageIds) {
        this.#awaited.get(messageId)?.(
          new ConnectError(
            "the task has ended before the agent took the message: send it again",
            Code.Aborted,
          ),
        );
      }
    }
    if (endsExchange(event)) this.#ends.reach(event.sequence);
  }
}
