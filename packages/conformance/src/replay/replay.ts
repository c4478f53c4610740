import { create, equals } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  emptyTask,
  endsExchange,
  isTerminal,
  type Message,
  MessageSchema,
  type Part,
  Role,
  reduceTask,
  type SendMessageRequest,
  type Task,
  type TaskEvent,
  TaskEventSchema,
} from "@devtool/schema";

/**
 * A recorded conversation that is played to one client: it accepts the client's
 * messages and returns the events that followed each in the recording.
 *
 * Mistakes of the client are collected in `problems` and also returned to the
 * client as errors.
 */
export class Replay {
  /**
   * Mistakes of the client, in words.
   */
  readonly problems: string[] = [];
  /**
   * The recorded events, split before each message of the client.
   */
  readonly #exchanges: readonly (readonly TaskEvent[])[];
  /**
   * The events played so far, with the message ids that the client chose.
   */
  readonly #log: TaskEvent[] = [];
  /**
   * The sequence before the exchange of each message, by message id.
   */
  readonly #starts = new Map<string, number>();
  readonly #hidden = new Set<bigint>();
  readonly #snapshots = new Set<bigint>();
  #nextEvents = Promise.withResolvers<void>();

  constructor(recorded: readonly TaskEvent[]) {
    const exchanges: TaskEvent[][] = [];
    for (const event of recorded) {
      if (messageIn(event)) exchanges.push([]);
      exchanges.at(-1)?.push(event);
    }
    this.#exchanges = exchanges;
  }

  /**
   * The events played so far.
   */
  get log(): readonly TaskEvent[] {
    return this.#log;
  }

  /**
   * The events played so far that the protocol has a form for.
   */
  get shown(): readonly TaskEvent[] {
    return this.#log.filter(
      ({ sequence }) =>
        this.#snapshots.has(sequence) || !this.#hidden.has(sequence),
    );
  }

  /**
   * Whether the client has sent every message of the conversation.
   */
  get isOver(): boolean {
    return this.#starts.size === this.#exchanges.length;
  }

  /**
   * Marks an event as hidden, because the protocol has no form for it.
   */
  markHidden({ sequence }: TaskEvent): void {
    this.#hidden.add(sequence);
  }

  /**
   * Marks an event as shown, because the whole task was sent in its place.
   */
  markSnapshot(sequence: bigint): void {
    this.#snapshots.add(sequence);
  }

  /**
   * Returns the task as it is now. Throws `Code.NotFound` for another id.
   */
  task(taskId: string): Task {
    if (this.#log.length === 0 || this.#log[0]?.taskId !== taskId) {
      throw this.reject(
        `task ${JSON.stringify(taskId)} does not exist`,
        Code.NotFound,
      );
    }
    return this.taskAt(BigInt(this.#log.length));
  }

  /**
   * Returns the task as it was after an event.
   */
  taskAt(sequence: bigint): Task {
    return this.#log.slice(0, Number(sequence)).reduce(reduceTask, emptyTask());
  }

  /**
   * Accepts a message and returns the sequence before its exchange. A message
   * with a known id is a retry (STREAM-7). Throws if the message is not the
   * recorded one.
   */
  acceptMessage({
    message,
    taskId,
  }: Pick<SendMessageRequest, "message" | "taskId">): bigint {
    if (!message || message.messageId === "") {
      throw this.reject("the message has no id");
    }
    const { messageId } = message;
    const known = this.#starts.get(messageId);
    if (known !== undefined) return BigInt(known);
    const exchange = this.#exchanges[this.#starts.size];
    if (!exchange) {
      throw this.reject("a message came after the conversation was over");
    }
    const expectedId = this.#log[0]?.taskId ?? "";
    if (taskId !== expectedId) {
      throw this.reject(
        `the message must name task "${expectedId}": it names "${taskId}"`,
      );
    }
    const recorded = exchange[0] && messageIn(exchange[0]);
    if (!recorded) throw new Error("an exchange must begin with a message");
    for (const part of message.parts) this.#assertShown(part);
    // A client may name the question that it answers, or not.
    const parts = message.parts.map((part) => ({
      ...part,
      shownDigest: new Uint8Array(),
    }));
    const actual = create(MessageSchema, { parts });
    if (
      !equals(
        MessageSchema,
        actual,
        create(MessageSchema, { parts: recorded.parts }),
      )
    ) {
      throw this.reject(
        `the message must hold ${describeParts(recorded)}: it holds ${describeParts(message)}`,
      );
    }
    const start = this.#log.length;
    this.#starts.set(messageId, start);
    this.#log.push(...exchange.map((event) => withSentMessage(event, message)));
    this.#nextEvents.resolve();
    this.#nextEvents = Promise.withResolvers();
    return BigInt(start);
  }

  /**
   * Yields the events of the exchange that starts after a sequence.
   */
  *exchange(after: bigint): Iterable<TaskEvent> {
    for (const event of this.#log.slice(Number(after))) {
      yield event;
      if (endsExchange(event)) return;
    }
  }

  /**
   * Yields the events after a sequence, and those to come, until the task has
   * ended.
   */
  async *follow(after: bigint, signal: AbortSignal): AsyncIterable<TaskEvent> {
    const aborted = new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    let position = Number(after);
    if (position > this.#log.length) {
      throw this.reject(`event ${after} was not sent`, Code.OutOfRange);
    }
    while (!signal.aborted) {
      const nextEvents = this.#nextEvents.promise;
      for (const event of this.#log.slice(position)) {
        yield event;
        position++;
      }
      if (this.isOver && isTerminal(this.#log.at(-1)?.state ?? 0)) return;
      await Promise.race([nextEvents, aborted]);
    }
  }

  /**
   * Records a mistake of the client and returns the error to throw.
   */
  reject(problem: string, code: Code = Code.InvalidArgument): ConnectError {
    this.problems.push(problem);
    return new ConnectError(problem, code);
  }

  /**
   * Rejects an answer that names another question than its call asked last
   * (TOOL-11).
   */
  #assertShown({ content, shownDigest }: Part): void {
    if (content.case !== "confirmation" || shownDigest.length === 0) return;
    const { toolCallId } = content.value;
    const asked = this.#log.findLast(
      ({ payload }) =>
        payload.case === "toolCall" && payload.value.toolCallId === toolCallId,
    );
    const { digest = new Uint8Array() } = asked?.toolCallDetail ?? {};
    if (
      digest.length === shownDigest.length &&
      digest.every((byte, index) => byte === shownDigest[index])
    ) {
      return;
    }
    throw this.reject(
      `the answer to ${toolCallId} has the digest of another question`,
      Code.FailedPrecondition,
    );
  }
}

function messageIn({ payload }: TaskEvent): Message | undefined {
  if (payload.case === "created") return payload.value.message;
  return payload.case === "message" ? payload.value : undefined;
}

function withSentMessage(
  event: TaskEvent,
  { messageId, parts }: Message,
): TaskEvent {
  const recorded = messageIn(event);
  if (!recorded) return event;
  const message = { ...recorded, role: Role.USER, messageId, parts };
  const { payload } = event;
  return create(TaskEventSchema, {
    ...event,
    payload:
      payload.case === "created"
        ? { case: "created", value: { ...payload.value, message } }
        : { case: "message", value: message },
  });
}

function describeParts({ parts }: Message): string {
  const texts = parts.map(({ content }) => {
    if (content.case === "text") return JSON.stringify(content.value);
    if (content.case !== "confirmation") return content.case ?? "nothing";
    return `${content.value.selectedOptionId} for ${content.value.toolCallId}`;
  });
  return texts.join(", ");
}
