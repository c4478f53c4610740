import {
  awaitedToolCalls,
  confirmationsOf,
  isTerminal,
  type Message,
  MessageDelivery,
  openToolCalls,
  type QueuedMessage,
  type Summary,
  type Task,
  type TaskCreated,
  TaskState,
} from "@devtool/schema";
import type { Summarized } from "../agent/agent.ts";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { Confirmations } from "../agent/confirmations.ts";
import { Code, DevtoolError } from "../errors.ts";
import { answeredCalls, assertNotEnded } from "./answer.ts";
import { callEntries } from "./call-entry.ts";
import type { EventLog, LogEntry } from "./event-log.ts";
import { createTurn } from "./live-turn.ts";
import {
  goesOn,
  mustWait,
  queuedEntry,
  steeringMessages,
  takenEntry,
  withdrawnEntry,
  withUntaken,
} from "./message-queue.ts";
import { cutTurnNotice, recoverTask } from "./recover.ts";
import { CANCELED, cancelledCall, cutEntry, endEntry, saidAtEnd, stateEntry } from "./turn-entries.ts";
import { TurnRecorder } from "./turn-recorder.ts";

/** The error of what a server does not take any more. */
export function stopping(): DevtoolError {
  return new DevtoolError("the server stops", Code.Unavailable, { remedy: "try again when it runs" });
}

/** The reason with which a session aborts its agent when the server stops: the task is left as a crash would leave it. */
const STOPPING = stopping();

/** A run of the agent: its end, and the way to end it. */
interface Run {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

/** How a run of the agent came to its end: as it said itself, or cut short for a reason. */
type Outcome =
  | { readonly case: "ended"; readonly entry: LogEntry }
  | { readonly case: "cut"; readonly reason: unknown };

/** Dependencies of `TaskSession`. */
export interface TaskSessionOptions {
  readonly log: EventLog;
  readonly executor: AgentExecutor;
  /** Finds what was said in the tasks that one goes on from. */
  readonly earlier: (task: Task) => Promise<readonly Message[]>;
}

/** A client's message to a task that exists. */
export interface Incoming {
  readonly message: Message;
  /** Whether the client shows with it that it knows the development-tool extension. */
  readonly activateExtension: boolean;
  /** When the agent takes it, if the task cannot take it now. Default: when the turn ends. */
  readonly delivery?: MessageDelivery;
}

/** One live task: the only writer of its log. Starts the agent, records what it does, takes messages, cancels. */
export class TaskSession implements AsyncDisposable {
  readonly log: EventLog;
  readonly #executor: AgentExecutor;
  readonly #earlier: TaskSessionOptions["earlier"];
  readonly #confirmations = new Confirmations();
  readonly #recorder: TurnRecorder;
  #run: Run | undefined;
  #isStopping = false;
  /** Whether another executor worked on the task before, and this one has not yet. */
  #isRestarted = false;

  constructor({ log, executor, earlier }: TaskSessionOptions) {
    this.log = log;
    this.#recorder = new TurnRecorder(log);
    this.#executor = executor;
    this.#earlier = earlier;
  }

  /** The task as its log has it now. */
  get task(): Task {
    return this.log.task;
  }

  /** Whether the client of the conversation knows the development-tool extension; no event of this task may say so yet. */
  get extensionActive(): boolean {
    return this.log.conversation.extensionActive;
  }

  /** Tells whether nobody needs the session: it may be closed and opened anew. */
  get idle(): boolean {
    return this.#run === undefined && this.log.idle;
  }

  /** Opens the log of a new task and sets the agent to work. */
  async create(created: TaskCreated): Promise<void> {
    const committed = this.log.append([{ state: TaskState.SUBMITTED, payload: { case: "created", value: created } }]);
    this.#start();
    await committed;
  }

  /**
   * Takes a client's message: an answer to open questions, or what the agent is to do next, which waits while the task is
   * at work. Resolves when it is durable, with the sequence of its event. Throws a `DevtoolError` when the task cannot
   * take it; nothing has changed then.
   */
  async accept({ message, delivery, activateExtension }: Incoming): Promise<bigint> {
    if (this.#isStopping) throw stopping();
    const answered = callEntries(this.task, answeredCalls(this.task, message));
    const steers = delivery === MessageDelivery.STEER && this.#executor.takesSteering;
    const queued = mustWait(this.task, message)
      ? queuedEntry(this.task, message, steers ? MessageDelivery.STEER : MessageDelivery.QUEUE)
      : undefined;
    if (activateExtension) this.log.conversation.activateExtension();
    const sequence = this.#recorder.nextSequence;
    if (queued) {
      await this.#recorder.append([queued]);
      return sequence;
    }
    const entries: LogEntry[] = [
      { state: TaskState.WORKING, payload: { case: "message", value: message } },
      ...answered,
    ];
    // The agent begins while the disk writes: what it does is in the log behind the message, so it is durable no sooner.
    const committed = this.#recorder.appendWithState(entries);
    for (const confirmation of confirmationsOf(message)) this.#confirmations.answer(confirmation);
    if (!this.#run) this.#start();
    await committed;
    return sequence;
  }

  /** Records that the client of the conversation knows the extension, where no message is recorded that would say so. */
  async activateExtension(): Promise<void> {
    if (this.extensionActive) return;
    this.log.conversation.activateExtension();
    await this.#recorder.append([{ payload: { case: undefined } }]);
  }

  /** Removes a message that waits. Throws a `DevtoolError` when none of this id does; nothing has changed then. */
  async withdraw(messageId: string): Promise<void> {
    await this.#recorder.append([withdrawnEntry(this.task, messageId)]);
  }

  /**
   * Cancels the task: the agent and everything it started end, open calls become CANCELLED. Resolves when that is
   * recorded. Throws `Code.FailedPrecondition` when the task has already ended.
   */
  async cancel(): Promise<void> {
    assertNotEnded(this.task);
    const run = this.#run;
    if (!run) return this.#end({ case: "cut", reason: CANCELED });
    run.controller.abort(CANCELED);
    await run.ended;
  }

  /**
   * Puts a summary in place of the older history of a task at rest. `make` gets the task with what was said in the tasks
   * before it. Gives the summary when there was something to gain. Throws `Code.FailedPrecondition` when the task is at
   * work, also when it began to meanwhile.
   */
  async summarize(make: (task: Task) => Promise<Summarized>): Promise<Summary | undefined> {
    this.#assertResting();
    const { sequence } = this.task;
    const earlier = await this.#earlier(this.task);
    const { summary, usage } = await make({ ...this.task, history: [...earlier, ...this.task.history] });
    this.#assertResting();
    const fits = this.task.sequence === sequence ? summary : undefined;
    const used: LogEntry[] = usage ? [{ payload: { case: "usage", value: usage } }] : [];
    await this.#recorder.append([...used, ...(fits ? [{ payload: { case: "summary", value: fits } as const }] : [])]);
    return fits;
  }

  #assertResting(): void {
    if (!this.#run) return;
    throw new DevtoolError(`task ${JSON.stringify(this.task.id)} is working`, Code.FailedPrecondition, {
      remedy: "wait for it or cancel it",
    });
  }

  /** Brings a task that a stop of the server cut to where it can go on (R1). To be called once, before anything else. */
  async recover(): Promise<void> {
    const recovery = recoverTask(this.task);
    this.#isRestarted = this.task.state !== TaskState.SUBMITTED;
    if (recovery.case === "interrupt") await this.log.append(recovery.entries);
    if (recovery.case === "resume") return this.#start();
    const [next] = this.task.queuedMessages;
    if (next && awaitedToolCalls(this.task).length === 0) await this.#goOnWith(next, [cutTurnNotice()]);
  }

  /** Stops the agent without canceling the task, which takes no more messages: it is left as after a restart. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#run?.controller.abort(STOPPING);
    await this.#run?.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#executor[Symbol.asyncDispose]?.();
  }

  #start(): void {
    const controller = new AbortController();
    this.#run = { controller, ended: this.#execute(controller.signal) };
  }

  async #execute(signal: AbortSignal): Promise<void> {
    const outcome = await this.#work(signal).then(
      (entry): Outcome => ({ case: "ended", entry }),
      (reason: unknown): Outcome => ({ case: "cut", reason }),
    );
    // Before the end is recorded: a message that follows it starts a run of its own.
    this.#run = undefined;
    // A log that failed takes no more: its session is opened anew, and recovers.
    if (this.log.failure) return;
    // An agent may have come to its end and still be closing what it had open: a cancellation counts until that is done.
    const isCut = signal.aborted && (outcome.case === "cut" || signal.reason === CANCELED);
    await this.#end(isCut ? { case: "cut", reason: signal.reason } : outcome).catch(() => undefined);
  }

  /** Lets the agent work and gives what is to be recorded as the end of it. */
  async #work(signal: AbortSignal): Promise<LogEntry> {
    this.#recorder.model = (await this.#executor.modelFor?.(this.task)) ?? "";
    // The agent begins while the disk writes: what it records is behind this. Store failures surface on the next append.
    this.#recorder.appendWithState([]).catch(() => undefined);
    const turn = createTurn({
      log: this.log,
      earlier: await this.#earlier(this.task),
      confirmations: this.#confirmations,
      isRestarted: this.#isRestarted,
      takeSteering: () => this.#takeSteering(),
    });
    this.#isRestarted = false;
    for await (const event of this.#executor.execute(turn, signal)) {
      if (event.case === "end" || event.case === "reply") return endEntry(event, this.task);
      const held = this.#recorder.record(event);
      if (held) await held;
    }
    return stateEntry(TaskState.COMPLETED);
  }

  /** Messages that steer are in the task when this returns; store failures surface on the next append. */
  #takeSteering(): void {
    const messages = steeringMessages(this.task);
    if (messages.length > 0) this.#recorder.append(messages.map(takenEntry)).catch(() => undefined);
  }

  async #end(outcome: Outcome): Promise<void> {
    if (outcome.case === "cut" && outcome.reason === STOPPING) return this.#interrupt();
    const entry = outcome.case === "ended" ? outcome.entry : cutEntry(outcome.reason);
    const left = isTerminal(entry.state ?? TaskState.UNSPECIFIED) ? openToolCalls(this.task) : [];
    const cancelled = left.map((call) => ({ call: cancelledCall(call) }));
    const ended = callEntries(this.task, cancelled);
    const [next] = this.task.queuedMessages;
    if (!next || !goesOn(this.task, entry.state))
      return this.#recorder.append([...ended, withUntaken(entry, this.task)]);
    const said = [...ended, ...saidAtEnd(entry)];
    // The message waits for the next start of the server, and the task stays at work for it.
    return this.#isStopping ? this.#recorder.append(said) : this.#goOnWith(next, said);
  }

  /** Begins the next turn with a message that waited, without the task leaving `working`. */
  async #goOnWith(next: QueuedMessage, before: readonly LogEntry[]): Promise<void> {
    const recorded = this.#recorder.append([...before, takenEntry(next)]);
    this.#start();
    await recorded;
  }

  async #interrupt(): Promise<void> {
    await this.#recorder.append([]);
    const recovery = recoverTask(this.task);
    if (recovery.case === "interrupt") await this.#recorder.append(recovery.entries);
  }
}
