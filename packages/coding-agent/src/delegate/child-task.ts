import { setTimeout as delay } from "node:timers/promises";
import {
  type JsonObject,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  callWithRetry,
  confirmationPart,
  modifiedArgumentsPart,
  streamMessage,
  subscribeTask,
} from "@devtool/client";
import { abortable } from "@devtool/internal/abortable";
import {
  emptyTask,
  isAtRest,
  isTerminal,
  OPTION_CANCEL,
  type Part,
  type PartSchema,
  reduceTask,
  type SendMessageRequestSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskSchema,
  type TraceContext,
} from "@devtool/schema";
import { delegationOf } from "../tool/delegation.ts";
import type {
  AnswerFate,
  CallPlace,
  LastingAnswer,
  ToolEvent,
} from "../tool/tool.ts";
import { callChainMetadata } from "./call-chain.ts";
import {
  cancelWork,
  idOf,
  keepUntold,
  knownTaskOf,
  MAY_GO_ON,
  type PlacedCall,
  RETRIES,
  tasksOf,
  uuidOf,
} from "./call-ids.ts";
import type { CalledAgent, Connection } from "./called-agent.ts";
import {
  asksAsBefore,
  type ChildQuestion,
  questionOf,
} from "./child-question.ts";
import { liveReport, resultOf } from "./child-report.ts";

/** A call of an agent that runs. */
export interface ChildCall extends PlacedCall {
  readonly agent: CalledAgent;
  readonly message: string;
  /** Data that comes with the message. Default: none. */
  readonly data?: JsonObject | undefined;
  /** Files that come with the message. Default: none. */
  readonly files?: readonly Part[] | undefined;
  /** The agents down to the calling one, as a `CallChain` has them. */
  readonly chain: readonly string[];
  readonly place: CallPlace;
  /**
   * Whether another agent gets the work if this one cannot be reached, which is
   * then not waited for. Default: false.
   */
  readonly isReplaceable?: boolean | undefined;
  readonly trace: TraceContext | undefined;
  /** The maximum length of live output and of the result, in characters. */
  readonly maxOutputLength: number;
  /**
   * How long the agent may say nothing while it works, in milliseconds. Default:
   * 30 minutes.
   */
  readonly silenceMs?: number | undefined;
  /** Gets the agent's task as it ended, before the call ends. */
  readonly onEnd?: ((task: Task) => void) | undefined;
  /** Gets why the call fails where the task has no end, before the call ends. */
  readonly onFailure?: ((reason: unknown) => Promise<void>) | undefined;
}

/** The minimum time between two versions of the live output, in milliseconds. */
const LIVE_MS = 250;
const SILENCE_MS: number = 30 * 60_000;
/** The maximum size of a task elsewhere that is held here, in bytes. */
const MAX_TASK_BYTES = 64 * 1024 * 1024;
/** The maximum size of a question from elsewhere, in bytes. */
const MAX_QUESTION_BYTES = 4 * 1024 * 1024;
/** How long a cancellation of the agent's task may take, in milliseconds. */
export const CANCEL_MS = 5000;

/**
 * The task of a called agent, as the call follows it: from its message until it
 * has ended, over its questions.
 *
 * All ids that it sends follow from the call, so a call that goes on after a
 * restart finds what it has sent.
 */
export class ChildTask {
  readonly #call: ChildCall;
  readonly #connection: Connection;
  readonly #signal: AbortSignal;
  /** Ends what still reads of the task. */
  readonly #over = new AbortController();
  /** Resolves when the message of the call has arrived. */
  readonly #arrived = Promise.withResolvers<void>();
  #task: Task = emptyTask();
  #events: AsyncIterable<TaskEvent> | undefined;
  /** The size of the task when it was measured and of the events since, in bytes. */
  #grownBytes = 0;
  /** The live output, as it was shown last. */
  #shown = "";
  /** Why the task asks again. */
  #reason = "";
  /** The ids of the answers that were sent. */
  readonly #given = new Set<string>();
  /** The ids of the messages that the task had when it was read last. */
  #arrivedIds: ReadonlySet<string> = new Set();
  /** Whether the task had an answer then. */
  readonly #hasArrived = (answerId: string): boolean =>
    this.#arrivedIds.has(uuidOf(answerId));
  /** The question that the user declined, and why the task may still ask it. */
  #declined: { readonly key: string; readonly reason: unknown } | undefined;

  constructor(call: ChildCall, connection: Connection, signal: AbortSignal) {
    this.#call = call;
    this.#connection = connection;
    this.#signal = AbortSignal.any([signal, this.#over.signal]);
  }

  /** Starts the work, or finds it, and follows it until it has ended. */
  async *follow(): AsyncIterable<ToolEvent> {
    const { agent, maxOutputLength } = this.#call;
    try {
      await this.#begin();
      for (;;) {
        yield* this.#read();
        if (!isAtRest(this.#task.state)) {
          await this.#load(this.#task.id);
          continue;
        }
        const asked = questionOf(agent.name, this.#task, this.#reason);
        if (!asked) break;
        const { key } = asked.question;
        if (this.#declined?.key === key) throw this.#declined.reason;
        if (!agent.isOwnServer) {
          await this.#assertWithin("question", asked.bytes, MAX_QUESTION_BYTES);
        }
        yield* this.#ask(asked);
      }
    } finally {
      this.#over.abort();
    }
    this.#call.onEnd?.(this.#task);
    yield { case: "questionsOver", hasArrived: this.#hasArrived };
    yield resultOf(agent.name, this.#task, maxOutputLength);
  }

  /**
   * Sends the message of the call, unless the agent has it already.
   *
   * Throws `Code.Aborted` when the call goes on after a restart and nobody can
   * tell whether the agent has the message.
   */
  async #begin(): Promise<void> {
    const { place, taskId } = this.#call;
    if (place.isResumed && (await this.#find())) return;
    if (place.isResumed && !this.#connection.isIdempotent) {
      throw new ConnectError(
        "the server stopped while the message was sent, and the agent does not say whether it has it: it was not sent again",
        Code.Aborted,
      );
    }
    if (taskId !== "") {
      this.#task = await this.#load(taskId);
    }
    const contextId =
      this.#call.conversation?.contextId ?? idOf(place, "context");
    const request = {
      ...(taskId === "" ? { contextId } : { taskId }),
      ...this.#call.agent.settingsFor(place.task),
      message: this.#message(),
    };
    this.#events = this.#send(request, this.#untilArrived());
  }

  #message(): NonNullable<
    MessageInitShape<typeof SendMessageRequestSchema>["message"]
  > {
    const { agent, message, data, files, place, chain, conversation } =
      this.#call;
    const { task, toolCallId } = place;
    const parts: MessageInitShape<typeof PartSchema>[] = [
      { content: { case: "text", value: briefed(agent, message) } },
    ];
    if (data) parts.push({ content: { case: "data", value: data } });
    parts.push(...(files ?? []));
    const before = conversation?.taskIds.at(-1);
    return {
      messageId: idOf(this.#call.place, "message"),
      parts,
      // Elsewhere, nobody knows a task of this server.
      referenceTaskIds: [
        ...(agent.isOwnServer ? [task.id] : []),
        ...(before === undefined ? [] : [before]),
      ],
      metadata: callChainMetadata({
        parentTaskId: task.id,
        parentToolCallId: toolCallId,
        agents: [...chain],
        calledAs: agent.local?.name ?? "",
      }),
    };
  }

  /** Finds the task that has the message of the call. */
  async #find(): Promise<boolean> {
    const { taskId, place } = this.#call;
    const ids = await tasksOf(this.#call, this.#connection, this.#signal);
    for (const id of ids ?? []) {
      const found = await this.#load(id).catch((reason: unknown) => {
        if (ConnectError.from(reason).code === Code.NotFound) return undefined;
        throw reason;
      });
      if (!found) continue;
      const { history } = found;
      const sent = idOf(place, "message");
      // A task that the call began is the work, whatever it shows.
      if (id !== taskId || history.some((one) => one.messageId === sent))
        return true;
    }
    return false;
  }

  /**
   * Reads the task as it is, and what follows unless it rests. Returns the task.
   *
   * A2A shows what identifies a question in a stream alone, so a task elsewhere
   * is read from its first event on.
   */
  async #load(taskId: string): Promise<Task> {
    const { client, isIdempotent } = this.#connection;
    const { task = emptyTask() } = await callWithRetry(
      (signal) => client.tasks.getTask({ taskId }, { signal }),
      RETRIES,
      this.#signal,
    );
    const { sequence, state, history } = task;
    this.#arrivedIds = new Set(history.map(({ messageId }) => messageId));
    const isWhole =
      this.#call.agent.isOwnServer || !isIdempotent || isTerminal(state);
    this.#task = isWhole ? task : { ...emptyTask(), id: taskId };
    const afterSequence = isWhole ? sequence : 0n;
    this.#events =
      isWhole && isAtRest(state)
        ? undefined
        : untilRest(
            subscribeTask(
              client,
              { taskId, afterSequence },
              this.#signal,
              RETRIES,
            ),
            sequence,
          );
    return task;
  }

  /**
   * Returns a signal that aborts with the call, but not while its message is on
   * its way: what that begins can be canceled once it is known.
   */
  #untilArrived(): AbortSignal {
    this.#signal.throwIfAborted();
    const late = new AbortController();
    const abort = async (): Promise<void> => {
      const given = delay(CANCEL_MS, undefined, { ref: false });
      await Promise.race([this.#arrived.promise, given]);
      late.abort(this.#signal.reason);
    };
    this.#signal.addEventListener("abort", () => void abort(), { once: true });
    return late.signal;
  }

  #send(
    request: MessageInitShape<typeof SendMessageRequestSchema>,
    signal: AbortSignal = this.#signal,
  ): AsyncIterable<TaskEvent> {
    const { traceparent, tracestate } = this.#call.trace ?? {};
    const headers = {
      ...(traceparent && { traceparent }),
      ...(tracestate && { tracestate }),
      ...(this.#call.agent.isOwnServer && {
        "devtool-new-task-id": idOf(this.#call.place, "task"),
      }),
    };
    return streamMessage(
      this.#connection.client,
      { ...request, activateExtension: this.#connection.isIdempotent },
      signal,
      { ...RETRIES, headers },
    );
  }

  /** Shows what the agent does until its task rests. */
  async *#read(): AsyncIterable<ToolEvent> {
    const { agent, maxOutputLength } = this.#call;
    const events = this.#events ?? [];
    this.#events = undefined;
    let shownMs = Number.NEGATIVE_INFINITY;
    for await (const event of this.#untilSilent(events)) {
      this.#task = reduceTask(this.#task, event);
      this.#measure(this.#task, event);
      await this.#assertHeld();
      const { id: taskId } = this.#task;
      if (taskId !== knownTaskOf(this.#call.place)) {
        const value = delegationOf({ agent: agent.name, taskId });
        yield { case: "delegation", value };
      }
      this.#arrived.resolve();
      // The result says it all.
      if (isTerminal(event.state)) continue;
      const nowMs = performance.now();
      if (nowMs - shownMs < LIVE_MS && !isAtRest(event.state)) continue;
      shownMs = nowMs;
      const report = liveReport(this.#task, maxOutputLength);
      if (report === this.#shown) continue;
      this.#shown = report;
      yield { case: "live", value: report };
    }
  }

  /**
   * Yields events. When none comes for too long, cancels the agent's task and
   * throws `Code.DeadlineExceeded`.
   */
  async *#untilSilent(
    events: AsyncIterable<TaskEvent> | Iterable<TaskEvent>,
  ): AsyncIterable<TaskEvent> {
    const { silenceMs = SILENCE_MS } = this.#call;
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), silenceMs);
    try {
      for await (const event of abortableEvents(events, silence.signal)) {
        timer.refresh();
        yield event;
        timer.refresh();
      }
    } catch (reason) {
      if (!silence.signal.aborted) throw reason;
      throw await this.#giveUp(
        `it said nothing for ${silenceMs / 1000} seconds`,
        Code.DeadlineExceeded,
      );
    } finally {
      clearTimeout(timer);
    }
  }

  /** Counts an event of an agent elsewhere, and measures its task when it must. */
  #measure(task: Task, event: TaskEvent): void {
    if (this.#call.agent.isOwnServer) return;
    this.#grownBytes += toBinary(TaskEventSchema, event).length;
    if (this.#grownBytes <= MAX_TASK_BYTES) return;
    this.#grownBytes = toBinary(TaskSchema, task).length;
  }

  /** Gives up an agent elsewhere whose task has grown beyond the limit. */
  #assertHeld(): Promise<void> {
    return this.#assertWithin("task", this.#grownBytes, MAX_TASK_BYTES);
  }

  async #assertWithin(
    what: string,
    bytes: number,
    maxBytes: number,
  ): Promise<void> {
    if (bytes <= maxBytes) return;
    const problem = `its ${what} is ${bytes} bytes: limit is ${maxBytes}`;
    throw await this.#giveUp(problem, Code.ResourceExhausted);
  }

  /** Cancels the task of an agent, and returns what is wrong with it. */
  async #giveUp(problem: string, code: Code): Promise<ConnectError> {
    const limit = AbortSignal.any([
      this.#signal,
      AbortSignal.timeout(CANCEL_MS),
    ]);
    const { agent } = this.#call;
    const fate = await cancelWork(this.#call, this.#connection, limit).then(
      () => "its task was canceled",
      async () =>
        `it could not be told to cancel its task: ${limit.aborted ? await keepUntold(agent, this.#call) : MAY_GO_ON}`,
    );
    return new ConnectError(`${problem}: ${fate}`, code);
  }

  /** Asks the user, and gives the agent the answer. */
  async *#ask(asked: ChildQuestion): AsyncIterable<ToolEvent> {
    const watching = new AbortController();
    const withdrawn = new AbortController();
    void this.#watch(asked, withdrawn, watching.signal);
    try {
      yield {
        case: "lastingQuestion",
        value: asked.question,
        withdrawn: withdrawn.signal,
        isGiven: (answerId) => this.#given.has(answerId),
        hasArrived: this.#hasArrived,
        reply: (answer) => {
          watching.abort();
          return this.#answer(asked, answer);
        },
      };
    } finally {
      watching.abort();
    }
    // Somebody else answered, so the task is not as it was, or it is too large.
    if (withdrawn.signal.aborted && !this.#events) {
      await this.#assertHeld();
      this.#reason = "";
      // What an agent withdraws fills the log no faster than its live output.
      const parts = asked.bytes / this.#call.maxOutputLength;
      const waitMs = LIVE_MS * Math.max(1, parts);
      await delay(waitMs, undefined, { signal: this.#signal });
      await this.#load(this.#task.id);
    }
  }

  /**
   * Withdraws a question that the agent's task does not ask any more, or whose
   * task grows beyond the limit.
   */
  async #watch(
    { question }: ChildQuestion,
    withdrawn: AbortController,
    until: AbortSignal,
  ): Promise<void> {
    const { agent } = this.#call;
    const signal = AbortSignal.any([until, this.#signal]);
    let task = this.#task;
    const from = { taskId: task.id, afterSequence: task.sequence };
    const { client } = this.#connection;
    try {
      for await (const event of subscribeTask(client, from, signal, RETRIES)) {
        const before = task;
        task = reduceTask(before, event);
        this.#measure(task, event);
        const isHeld = this.#grownBytes <= MAX_TASK_BYTES;
        if (isHeld && asksAsBefore(before, task)) continue;
        const now = questionOf(agent.name, task, question.reason)?.question;
        const isSame = now && Buffer.compare(now.digest, question.digest) === 0;
        if (isHeld && isSame) continue;
        if (!signal.aborted) withdrawn.abort();
        return;
      }
    } catch {
      // The agent cannot be followed. Its user's answer says what holds.
    }
  }

  /**
   * Gives the agent an answer. Waits until the agent has it.
   *
   * A question that the agent still asks when it does not take a decline is not
   * asked again: nothing that the user could answer would end it.
   */
  async #answer(
    { call, question: { key } }: ChildQuestion,
    answer: LastingAnswer,
  ): Promise<AnswerFate> {
    const { optionId, newContent, modifiedArguments, text, answerId } = answer;
    this.#given.add(answerId);
    const { id: taskId } = this.#task;
    const said = { content: { case: "text", value: text } } as const;
    const parts: MessageInitShape<typeof PartSchema>[] =
      text === "" ? [] : [said];
    if (call && modifiedArguments) {
      parts.unshift(modifiedArgumentsPart(call, modifiedArguments));
    } else if (call) {
      parts.unshift(confirmationPart(call, optionId, newContent));
    } else if (optionId === OPTION_CANCEL) {
      const limit = AbortSignal.timeout(CANCEL_MS);
      const signal = AbortSignal.any([limit, this.#signal]);
      await cancelWork(this.#call, this.#connection, signal).catch(
        () => undefined,
      );
      this.#declined = { key, reason: notCanceled() };
      await this.#load(taskId);
      return "taken";
    } else if (parts.length === 0) {
      parts.push({ content: { case: "text", value: "Go on." } });
    }
    const messageId = uuidOf(answerId);
    const events = this.#send({ taskId, message: { messageId, parts } });
    try {
      this.#events = await begun(events);
    } catch (reason) {
      const { code, rawMessage } = ConnectError.from(reason);
      if (!REFUSALS.has(code)) throw reason;
      this.#reason = rawMessage;
      if (optionId === OPTION_CANCEL) this.#declined = { key, reason };
      await this.#load(taskId);
      return modifiedArguments || newContent !== undefined
        ? "asks again"
        : "too late";
    }
    this.#reason = "";
    return modifiedArguments || optionId === "modify_with_editor"
      ? "asks again"
      : "taken";
  }
}

/** Returns a message with what an agent of a file is told before it. */
function briefed({ local }: CalledAgent, message: string): string {
  if (!local) return message;
  return `You work as the agent ${local.name}:\n\n${local.instructions}\n\nYour task:\n\n${message}`;
}

/** The codes with which an agent refuses an answer. */
const REFUSALS: ReadonlySet<Code> = new Set([
  Code.FailedPrecondition,
  Code.InvalidArgument,
  Code.PermissionDenied,
]);

function notCanceled(): ConnectError {
  return new ConnectError(
    "its question was declined, and it did not cancel its task",
    Code.FailedPrecondition,
  );
}

/** Yields events until the task rests, after the event with a sequence. */
async function* untilRest(
  events: AsyncIterable<TaskEvent>,
  after: bigint,
): AsyncIterable<TaskEvent> {
  for await (const event of events) {
    yield event;
    if (event.sequence >= after && isAtRest(event.state)) return;
  }
}

/** Yields events until a signal aborts, and then throws its reason. */
async function* abortableEvents(
  events: AsyncIterable<TaskEvent> | Iterable<TaskEvent>,
  signal: AbortSignal,
): AsyncIterable<TaskEvent> {
  const stream = (async function* () {
    yield* events;
  })();
  for (;;) {
    const next = await abortable(stream.next(), signal);
    if (next.done) return;
    yield next.value;
  }
}

/** Waits for the first event of a stream, and returns the whole stream. */
async function begun(
  events: AsyncIterable<TaskEvent>,
): Promise<AsyncIterable<TaskEvent>> {
  const iterator = events[Symbol.asyncIterator]();
  const first = await iterator.next();
  return (async function* () {
    try {
      for (let next = first; !next.done; next = await iterator.next()) {
        yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  })();
}
