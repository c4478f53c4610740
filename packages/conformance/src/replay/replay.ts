import { create, equals } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  emptyTask,
  endsExchange,
  isTerminal,
  type Message,
  MessageSchema,
  Role,
  reduceTask,
  type SendMessageRequest,
  type Task,
  type TaskEvent,
  TaskEventSchema,
} from "@devtool/schema";

/**
 * A conversation that was recorded, played to one client: takes its messages, and gives what followed each when it was
 * recorded. What the client did wrong is told in `problems`, and to the client itself as an error.
 */
export class Replay {
  /** What the client did wrong, in words. */
  readonly problems: string[] = [];
  readonly #hidden = new Set<bigint>();
  readonly #whole = new Set<bigint>();
  readonly #exchanges: readonly (readonly TaskEvent[])[];
  /** What was played so far, with the client's own ids of messages. */
  readonly #log: TaskEvent[] = [];
  /** Where the exchange of a message begins, by its id. */
  readonly #begun = new Map<string, number>();
  #wake = Promise.withResolvers<void>();

  constructor(recorded: readonly TaskEvent[]) {
    this.#exchanges = exchangesOf(recorded);
  }

  /** What was played so far. */
  get log(): readonly TaskEvent[] {
    return this.#log;
  }

  /** What was played so far and had a form in the protocol. */
  get shown(): readonly TaskEvent[] {
    return this.#log.filter(({ sequence }) => this.#whole.has(sequence) || !this.#hidden.has(sequence));
  }

  /** Notes an event that the protocol shows nothing of. */
  hide({ sequence }: TaskEvent): void {
    this.#hidden.add(sequence);
  }

  /** Notes an event that was shown as the task that it left. */
  showWhole(sequence: bigint): void {
    this.#whole.add(sequence);
  }

  /** Tells whether the client has seen the conversation to its end. */
  get isOver(): boolean {
    return this.#begun.size === this.#exchanges.length;
  }

  /** The task as it is now. Throws `Code.NotFound` for another one. */
  task(taskId: string): Task {
    if (this.#log.length === 0 || this.#log[0]?.taskId !== taskId) {
      throw this.refused(`task ${JSON.stringify(taskId)} does not exist`, Code.NotFound);
    }
    return this.taskAt(BigInt(this.#log.length));
  }

  /** The task as it was after an event. */
  taskAt(sequence: bigint): Task {
    return this.#log.slice(0, Number(sequence)).reduce(reduceTask, emptyTask());
  }

  /** Takes a message; one that came before is a retry (STREAM-7). Gives the sequence before its exchange. */
  take({ message, taskId }: Pick<SendMessageRequest, "message" | "taskId">): bigint {
    if (!message || message.messageId === "") throw this.refused("the message has no id");
    const known = this.#begun.get(message.messageId);
    if (known !== undefined) return BigInt(known);
    const exchange = this.#exchanges[this.#begun.size];
    if (!exchange) throw this.refused("a message came after the conversation was over");
    const wanted = this.#log[0]?.taskId ?? "";
    if (taskId !== wanted) throw this.refused(`the message must name task "${wanted}": it names "${taskId}"`);
    this.#assertAsRecorded(message, exchange);
    this.#begun.set(message.messageId, this.#log.length);
    this.#log.push(...exchange.map((event) => withMessageId(event, message.messageId)));
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
    return BigInt(this.#begun.get(message.messageId) ?? 0);
  }

  /** The events of one exchange, behind a sequence. */
  *exchange(after: bigint): Iterable<TaskEvent> {
    for (const event of this.#log.slice(Number(after))) {
      yield event;
      if (endsExchange(event)) return;
    }
  }

  /** All events after a sequence, and those to come, until the task has ended. */
  async *follow(after: bigint, signal: AbortSignal): AsyncIterable<TaskEvent> {
    const gone = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    let position = Number(after);
    if (position > this.#log.length) throw this.refused(`event ${after} was not sent`, Code.OutOfRange);
    while (!signal.aborted) {
      const wake = this.#wake.promise;
      for (const event of this.#log.slice(position)) {
        yield event;
        position++;
      }
      if (this.isOver && isTerminal(this.#log.at(-1)?.state ?? 0)) return;
      await Promise.race([wake, gone]);
    }
  }

  /** Notes what the client did wrong, as the error that it gets. */
  refused(problem: string, code: Code = Code.InvalidArgument): ConnectError {
    this.problems.push(problem);
    return new ConnectError(problem, code);
  }

  #assertAsRecorded(message: Message, [first]: readonly TaskEvent[]): void {
    const recorded = first && messageIn(first);
    if (!recorded) throw new Error("an exchange must begin with a message");
    const same = create(MessageSchema, { parts: message.parts });
    if (equals(MessageSchema, same, create(MessageSchema, { parts: recorded.parts }))) return;
    throw this.refused(`the message must hold ${shown(recorded)}: it holds ${shown(message)}`);
  }
}

/** Cuts a log before each message of the client. */
function exchangesOf(recorded: readonly TaskEvent[]): TaskEvent[][] {
  const exchanges: TaskEvent[][] = [];
  for (const event of recorded) {
    if (messageIn(event)) exchanges.push([]);
    exchanges.at(-1)?.push(event);
  }
  return exchanges;
}

function messageIn({ payload }: TaskEvent): Message | undefined {
  if (payload.case === "created") return payload.value.message;
  return payload.case === "message" ? payload.value : undefined;
}

function withMessageId(event: TaskEvent, messageId: string): TaskEvent {
  const recorded = messageIn(event);
  if (!recorded) return event;
  const message = { ...recorded, role: Role.USER, messageId };
  const { payload } = event;
  return create(TaskEventSchema, {
    ...event,
    payload:
      payload.case === "created"
        ? { case: "created", value: { ...payload.value, message } }
        : { case: "message", value: message },
  });
}

function shown({ parts }: Message): string {
  return parts
    .map(({ content }) => {
      if (content.case === "text") return JSON.stringify(content.value);
      if (content.case !== "confirmation") return content.case ?? "nothing";
      return `${content.value.selectedOptionId} for ${content.value.toolCallId}`;
    })
    .join(", ");
}
