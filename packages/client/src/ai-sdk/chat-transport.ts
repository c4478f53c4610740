import { create } from "@bufbuild/protobuf";
import {
  emptyTask,
  isAtRest,
  MessageSchema,
  Role,
  reduceTask,
  type Task,
} from "@devtool/schema";
import type { ChatTransport } from "ai";
import type { DevtoolClient } from "../devtool-client.ts";
import { streamMessage, subscribeTask } from "../follow.ts";
import type { ResumeOptions } from "../resume.ts";
import {
  addressRequest,
  createSendRequest,
  type SendOptions,
} from "../view/send-request.ts";
import { answersIn, messageOfUser } from "./chat-message.ts";
import { ChunkEncoder } from "./chunk-encoder.ts";
import type { AgentUIMessage, Chunk } from "./ui-message.ts";

/**
 * Options of `createChatTransport`.
 */
export interface ChatTransportOptions extends SendOptions, ResumeOptions {
  /**
   * Returns the id of the task that a chat continues: `metadata.taskId` of a
   * message that it received earlier.
   *
   * Default: a chat continues the task of its messages, and a chat without
   * messages starts one.
   */
  readonly taskIdOf?: (chatId: string) => string | undefined;
}

/**
 * Creates the transport of a chat of Vercel's AI SDK 7 with an agent. It may
 * serve several chats; each is a task.
 *
 * A message is sent once, under the id that the chat gave it. An approval
 * allows a tool call once, and otherwise declines it; it counts only for the
 * question that the chat showed. Set `sendAutomaticallyWhen` of the chat, so
 * that answers are sent. Stopping a chat ends its stream, but the agent keeps
 * working: call `client.tasks.cancelTask` to stop it.
 *
 * ```ts
 * const chat = useChat({
 *   transport: createChatTransport(client),
 *   sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
 * });
 * ```
 *
 * Errors are `ConnectError`s: those of `streamMessage`, `Code.InvalidArgument`
 * for parts that an agent does not take and for an approval of a call that does
 * not offer to be allowed once, and `Code.FailedPrecondition` if a call asks
 * about something else than the chat showed.
 */
export function createChatTransport(
  client: DevtoolClient,
  options: ChatTransportOptions = {},
): ChatTransport<AgentUIMessage> {
  return new AgentChatTransport(client, options);
}

type SentMessages = Parameters<
  ChatTransport<AgentUIMessage>["sendMessages"]
>[0];
type Reconnected = Parameters<
  ChatTransport<AgentUIMessage>["reconnectToStream"]
>[0];

class AgentChatTransport implements ChatTransport<AgentUIMessage> {
  /** What a reconnect reads replaces the message that was interrupted. */
  readonly resumeStreamIsReplay = true;
  readonly #client: DevtoolClient;
  readonly #options: ChatTransportOptions;
  /** The tasks of chats as they were shown last, by the ids of the chats. */
  readonly #tasks = new Map<string, Task>();

  constructor(client: DevtoolClient, options: ChatTransportOptions) {
    this.#client = client;
    this.#options = options;
  }

  async sendMessages({
    chatId,
    messages,
    messageId,
    abortSignal,
  }: SentMessages): Promise<ReadableStream<Chunk>> {
    const subject =
      messages.find(({ id }) => id === messageId) ?? messages.at(-1);
    if (!subject) throw new TypeError("the chat has no message to send");
    return streamOf(
      (signal) => this.#send({ chatId, messages, subject }, signal),
      abortSignal,
    );
  }

  async reconnectToStream({
    chatId,
    abortSignal,
  }: Reconnected): Promise<ReadableStream<Chunk> | null> {
    const taskId =
      this.#tasks.get(chatId)?.id ?? this.#options.taskIdOf?.(chatId);
    if (taskId === undefined) return null;
    return streamOf(
      (signal) => this.#reconnect(chatId, taskId, signal),
      abortSignal,
    );
  }

  async *#send(
    { chatId, messages, subject }: ChatMessages,
    signal: AbortSignal,
  ): AsyncGenerator<Chunk> {
    let task = this.#tasks.get(chatId);
    if (!task) {
      const named = messages.findLast(({ metadata }) => metadata)?.metadata
        ?.taskId;
      const taskId = this.#options.taskIdOf?.(chatId) ?? named;
      const answer =
        taskId === undefined
          ? undefined
          : await this.#client.tasks.getTask({ taskId }, { signal });
      task = answer?.task ?? emptyTask();
    }
    const isAnswer = subject.role === "assistant";
    const message = isAnswer
      ? create(MessageSchema, {
          role: Role.USER,
          parts: answersIn(subject, task),
        })
      : messageOfUser(subject);
    const request = addressRequest(
      createSendRequest({ message }, this.#options),
      task.id,
      this.#options,
    );
    const encoder = new ChunkEncoder(isAnswer ? subject : undefined);
    let isStarted = isAnswer;
    for await (const event of streamMessage(
      this.#client,
      request,
      signal,
      this.#options,
    )) {
      task = reduceTask(task, event);
      this.#tasks.set(chatId, task);
      if (!isStarted) yield start(subject.id, task);
      isStarted = true;
      yield* encoder.encode(event, task);
    }
  }

  async *#reconnect(
    chatId: string,
    taskId: string,
    signal: AbortSignal,
  ): AsyncGenerator<Chunk> {
    const { task: now = emptyTask() } = await this.#client.tasks.getTask(
      { taskId },
      { signal },
    );
    let task = emptyTask();
    let encoder = new ChunkEncoder();
    let turn: Chunk[] = [];
    for await (const event of subscribeTask(
      this.#client,
      { taskId },
      signal,
      this.#options,
    )) {
      task = reduceTask(task, event);
      this.#tasks.set(chatId, task);
      const { payload } = event;
      let message = payload.case === "message" ? payload.value : undefined;
      if (payload.case === "created") message = payload.value.message;
      // A message begins a turn if it says something. Answers alone continue a
      // turn.
      const saysSomething = message?.parts.some(
        ({ content }) => content.case !== "confirmation",
      );
      if (message && saysSomething && event.sequence <= now.sequence) {
        encoder = new ChunkEncoder();
        turn = [start(message.messageId, task)];
      }
      turn.push(...encoder.encode(event, task));
      if (event.sequence < now.sequence) continue;
      // The last turn so far is complete: from here on, the chat sees each
      // event as it comes.
      yield* turn;
      turn = [];
      if (isAtRest(task.state)) return;
    }
  }
}

/** The messages of a chat, and the one to send. */
interface ChatMessages {
  readonly chatId: string;
  readonly messages: readonly AgentUIMessage[];
  readonly subject: AgentUIMessage;
}

/**
 * Creates the first chunk of the message that responds to a user's message. Its
 * id is the same after a reconnect, so that the message is replaced and not
 * shown twice.
 */
function start(messageId: string, { id }: Task): Chunk {
  return {
    type: "start",
    messageId: `response-${messageId}`,
    messageMetadata: { taskId: id },
  };
}

/**
 * Returns a stream of what a generator yields. Browsers have no
 * `ReadableStream.from`.
 *
 * The signal that the generator gets aborts when `signal` does, and when the
 * reader of the stream leaves.
 */
function streamOf<T>(
  generate: (signal: AbortSignal) => AsyncGenerator<T>,
  signal: AbortSignal | undefined,
): ReadableStream<T> {
  const left = new AbortController();
  const items = generate(
    signal ? AbortSignal.any([signal, left.signal]) : left.signal,
  );
  return new ReadableStream<T>({
    async pull(controller) {
      const { done, value } = await items.next();
      if (done) {
        controller.close();
      } else {
        controller.enqueue(value);
      }
    },
    cancel: (reason) => left.abort(reason),
  });
}
