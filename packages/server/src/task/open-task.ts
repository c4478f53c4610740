import { create } from "@bufbuild/protobuf";
import {
  type ApprovalMode,
  awaitedToolCalls,
  confirmationsOf,
  GoalState,
  isAtRest,
  type Message,
  NoticeSchema,
  type Summary,
  type Task,
  type TaskCreated,
  type TaskEvent,
  TaskRenamedSchema,
  TaskState,
} from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import type { InboxAnswer } from "../store/task-inbox.ts";
import type { TaskLease } from "../store/task-lease.ts";
import { addedServers } from "./added-servers.ts";
import { afterTurn } from "./after-turn.ts";
import { answeredCalls, checkArguments } from "./answer.ts";
import { callEntries } from "./call-entry.ts";
import type { EventLog, LogEntry } from "./event-log.ts";
import {
  goalAfterCut,
  goalInState,
  goalMessage,
  goalWords,
  hasActiveGoal,
} from "./goal-progress.ts";
import { checkedEnd } from "./goal-turn.ts";
import {
  changedMode,
  goalEntry,
  queuedEntry,
  takenEntry,
  withdrawnEntry,
} from "./message-queue.ts";
import type { RecordedMessages } from "./recorded-messages.ts";
import {
  cutTurnNotice,
  type Interruption,
  interruptionWords,
  recoverTask,
} from "./recover.ts";
import type { SharedTick } from "./shared-tick.ts";
import {
  assertNotEnded,
  type Incoming,
  type TaskHandle,
} from "./task-handle.ts";
import {
  CANCELED,
  endEntry,
  STOPPING,
  stateEntry,
  stopping,
} from "./turn-entries.ts";
import { TurnRecorder } from "./turn-recorder.ts";
import {
  type Outcome,
  TurnRunner,
  type TurnRunnerOptions,
} from "./turn-runner.ts";

interface OpenTaskOptions
  extends Omit<TurnRunnerOptions, "answer" | "recorder" | "recordEnd"> {
  /**
   * The lease under which the log is written. Default: none, because no other
   * server can use the store.
   */
  readonly lease?: TaskLease | undefined;
  /**
   * Refuses copies of messages that are recorded. Default: the caller of
   * `accept` has checked that.
   */
  readonly messages?: RecordedMessages | undefined;
  /**
   * When agents' words are appended. Default: at the end of each turn of the
   * event loop.
   */
  readonly tick?: SharedTick | undefined;
}

/**
 * One open task, and the only writer of its log.
 *
 * Runs the agent and records what it does, takes messages from clients, and
 * cancels the task.
 */
export class OpenTask implements TaskHandle, AsyncDisposable {
  readonly log: EventLog;
  /** The fence of the lease under which the log is written; 0 without one. */
  readonly fence: bigint;
  readonly #options: OpenTaskOptions;
  readonly #recorder: TurnRecorder;
  readonly #runner: TurnRunner;
  /** Aborts when the server closes. */
  readonly #stopped = new AbortController();

  constructor(options: OpenTaskOptions) {
    const { log, executor, lease, tick, operations } = options;
    this.log = log;
    this.fence = lease?.fence ?? 0n;
    this.#options = options;
    this.#recorder = new TurnRecorder(
      log,
      executor.checkArguments ? "editable" : "fixed",
      tick,
      operations,
    );
    this.#runner = new TurnRunner({
      ...options,
      recorder: this.#recorder,
      recordEnd: (end) => this.#end(end),
      answer: async (message, clientLabel) => {
        await this.accept({ message, activateExtension: false, clientLabel });
      },
    });
    lease?.lost.addEventListener("abort", this.#lose);
    // A signal that has aborted already calls no listener.
    if (lease?.lost.aborted) this.#lose();
  }

  /**
   * The task as its log has it now, including events that are not durable yet.
   */
  get task(): Task {
    return this.log.task;
  }

  async whole(messages?: number): Promise<Task> {
    const task = await this.log.whole(messages);
    await this.log.waitUntilDurable(task.sequence);
    return task;
  }

  get extensionActive(): boolean {
    return this.log.conversation.extensionActive;
  }

  /** Whether the server closes, so that the task refuses messages. */
  get isStopping(): boolean {
    return this.#stopped.signal.aborted;
  }

  /**
   * Returns whether the log may still be written. When another server has the
   * task, ends all work here.
   */
  async isCurrent(): Promise<boolean> {
    if (
      !this.log.failure &&
      this.#options.lease &&
      !(await this.#options.lease.isCurrent())
    ) {
      this.#lose();
    }
    return this.log.failure === undefined;
  }

  /**
   * Whether the task can be closed: the agent does not run, and the log has
   * no readers.
   */
  get idle(): boolean {
    return !this.#runner.isRunning && this.log.idle;
  }

  /**
   * Appends the first event of a new task and starts the agent. Resolves when
   * the event is durable.
   *
   * @param approvalMode the approval mode to which the task changes its
   * session; undefined for none
   */
  async create(
    created: TaskCreated,
    approvalMode?: ApprovalMode,
  ): Promise<void> {
    const payload = { case: "created", value: created } as const;
    const committed = this.log.append([
      { state: TaskState.SUBMITTED, payload, approvalMode },
    ]);
    // The store refuses the task when another server has created one for a copy
    // of the message. Then no agent must start here.
    if (this.#options.lease) await committed;
    this.#runner.start();
    await committed;
  }

  read(
    after: bigint,
    signal: AbortSignal,
  ): AsyncIterable<readonly TaskEvent[]> {
    return this.log.read(after, signal);
  }

  /**
   * Takes a message, in this order: refuses a copy of a recorded one, refuses
   * what the task cannot take, queues what must wait, stores the rest, and
   * begins a turn with it or goes on in the present one.
   */
  async accept(incoming: Incoming): Promise<bigint> {
    const { message } = incoming;
    return this.#unlessRecorded(message, async () => {
      if (changesArguments(message)) await this.#refuseArguments(message);
      // Nothing waits from here until the message is in the log, so what is
      // checked is still so when it is stored.
      const answered = this.#refuse(incoming);
      const queued = queuedEntry(this.task, incoming, this.#options.executor);
      if (incoming.activateExtension) this.log.conversation.activateExtension();
      const sequence = this.#recorder.nextSequence;
      if (queued) {
        await this.#recorder.append([queued], this.#answerTo(incoming.entry));
        return sequence;
      }
      const stored = this.#store(incoming, answered);
      // The agent starts before the message is durable. Its events follow the
      // message in the log, so none is durable earlier.
      this.#begin(message);
      await stored;
      return sequence;
    });
  }

  #unlessRecorded<T>(
    { messageId }: Message,
    take: () => Promise<T>,
  ): Promise<T> {
    const { messages } = this.#options;
    if (!messages) return take();
    return messages.takeOnce(this.task.principal, messageId, take);
  }

  /** Rejects for arguments that the agent cannot take in place of its own. */
  async #refuseArguments(message: Message): Promise<void> {
    const { signal } = this.#stopped;
    await checkArguments(this.task, message, this.#options.executor, signal);
  }

  /**
   * Throws for a message while the server stops, for MCP servers whose names are
   * taken, and for answers that the task does not wait for. Returns what answers change.
   */
  #refuse({ message, clientLabel }: Incoming): LogEntry[] {
    if (this.isStopping) throw this.log.failure ?? stopping();
    // Another message may have brought a server of that name meanwhile.
    addedServers(message.mcpServers, this.task);
    const calls = answeredCalls(this.task, message, clientLabel);
    return callEntries(this.task, calls);
  }

  /** Stores a message with what it answers, and resolves when it is durable. */
  #store(
    { message, approvalMode, entry }: Incoming,
    answered: readonly LogEntry[],
  ): Promise<void> {
    const taken: LogEntry = {
      state: TaskState.WORKING,
      payload: { case: "message", value: message },
      approvalMode: changedMode(this.task, approvalMode),
    };
    const answer = this.#answerTo(entry);
    return this.#recorder.appendWithState([taken, ...answered], answer);
  }

  /** Gives the agent the answers in a message, and starts it if it rests. */
  #begin(message: Message): void {
    for (const confirmation of confirmationsOf(message)) {
      this.#runner.answer(confirmation);
    }
    if (!this.#runner.isRunning) this.#runner.start();
  }

  async activateExtension(): Promise<void> {
    if (this.extensionActive) return;
    this.log.conversation.activateExtension();
    await this.#recorder.append([{ payload: { case: undefined } }]);
  }

  async withdraw(messageId: string, entry?: bigint): Promise<void> {
    await this.#recorder.append(
      [withdrawnEntry(this.task, messageId)],
      this.#answerTo(entry),
    );
  }

  async setTitle(
    title: string,
    clientLabel: string,
    entry?: bigint,
  ): Promise<void> {
    if (this.task.title === title) return;
    const value = create(TaskRenamedSchema, {
      title,
      principal: this.task.principal,
      clientLabel,
    });
    await this.#recorder.append(
      [{ payload: { case: "renamed", value } }],
      this.#answerTo(entry),
    );
  }

  async setGoalState(
    state: GoalState.ACTIVE | GoalState.PAUSED,
    entry?: bigint,
  ): Promise<void> {
    const value = goalInState(this.task, state);
    if (!value) return;
    const progress = { payload: { case: "goalProgress", value } } as const;
    const answer = this.#answerTo(entry);
    // A turn that runs, or waits for an answer, goes on with the goal by itself.
    const rests =
      isAtRest(this.task.state) &&
      !this.#runner.isRunning &&
      awaitedToolCalls(this.task).length === 0;
    if (!rests) return this.#recorder.append([progress], answer);
    const message = goalMessage({ ...this.task, goalProgress: value });
    if (!message) {
      const text = goalWords(value, this.task.goal);
      const waiting = stateEntry(TaskState.INPUT_REQUIRED, { text });
      return this.#recorder.append([progress, waiting], answer);
    }
    if (this.isStopping) throw this.log.failure ?? stopping();
    return this.#continueWith(goalEntry(message), [progress], answer);
  }

  async cancel(): Promise<void> {
    assertNotEnded(this.task);
    if (!this.#runner.isRunning) {
      return this.#end({ case: "aborted", reason: CANCELED });
    }
    await this.#runner.abort(CANCELED);
  }

  async addNotice(text: string, entry?: bigint): Promise<void> {
    const notice: LogEntry = {
      payload: { case: "notice", value: create(NoticeSchema, { text }) },
    };
    await this.#recorder.append([notice], this.#answerTo(entry));
  }

  /**
   * Returns the answer that the next append gives to an entry of the inbox;
   * undefined for a request of a client.
   */
  #answerTo(entry: bigint | undefined): InboxAnswer | undefined {
    return entry === undefined
      ? undefined
      : { entry, sequence: this.#recorder.nextSequence };
  }

  async summarize(
    make: (task: Task) => Promise<Summary | undefined>,
  ): Promise<Summary | undefined> {
    this.#assertNotRunning();
    await this.log.readNeeded();
    const { sequence } = this.task;
    const earlier = await this.#options.earlier(this.task);
    const summary = await make({
      ...this.task,
      history: [...earlier.before, ...this.task.history],
    });
    this.#assertNotRunning();
    const fits = this.task.sequence === sequence ? summary : undefined;
    if (!fits) return undefined;
    await this.#recorder.append([
      { payload: { case: "summary", value: fits } },
    ]);
    return fits;
  }

  #assertNotRunning(): void {
    if (!this.#runner.isRunning) return;
    throw new DevtoolError(
      `task ${JSON.stringify(this.task.id)} is working`,
      Code.FailedPrecondition,
      {
        remedy: "wait for it or cancel it",
      },
    );
  }

  /**
   * Continues a task that a stop of the server interrupted (R1), or an outage of
   * its store. Must be called once, before anything else.
   *
   * @param refusal why the store refused the task when it was open before
   */
  async recover(refusal?: DevtoolError): Promise<void> {
    const checked =
      this.task.state === TaskState.WORKING ? checkedEnd(this.task) : undefined;
    if (checked) {
      const entry = endEntry({ case: "end", value: checked }, this.task);
      return this.#end({ case: "ended", entry });
    }
    const isOutage = this.#options.lease?.afterOutage === true;
    const cause = isOutage ? "outage" : (refusal ?? "stop");
    const continues = this.#continuesAfter(isOutage ? "outage" : "stop");
    const recovery = recoverTask(this.task, { cause, continues });
    const wasWorking = this.task.state === TaskState.WORKING;
    this.#runner.isRestarted = this.task.state !== TaskState.SUBMITTED;
    if (recovery.case !== "rest" && recovery.entries.length > 0) {
      await this.log.append(recovery.entries);
    }
    if (recovery.case === "resume") {
      if (cause === "outage" && wasWorking) {
        await this.log.append([cutTurnNotice(cause, "turn")]);
      }
      return this.#runner.start();
    }
    if (awaitedToolCalls(this.task).length > 0) return;
    const [queued] = this.task.queuedMessages;
    if (queued) {
      const next = takenEntry(this.task, queued);
      await this.#continueWith(next, [cutTurnNotice(cause, "queued message")]);
    } else if (recovery.case === "interrupt" && hasActiveGoal(this.task)) {
      await this.#recoverGoal(cause);
    }
  }

  /** Whether a turn that was cut goes on without asking the user. */
  #continuesAfter(cut: "stop" | "outage"): Interruption["continues"] {
    const { continuesFromLog = false } = this.#options.executor;
    const isUnasked = continuesFromLog === "unasked";
    return cut === "outage" || isUnasked ? continuesFromLog : false;
  }

  /** Goes on with the goal whose turn was cut, or asks the user. */
  async #recoverGoal(cause: Interruption["cause"]): Promise<void> {
    const value = goalAfterCut(this.task);
    const progress = { payload: { case: "goalProgress", value } } as const;
    const message =
      value.state === GoalState.ACTIVE
        ? goalMessage(this.task, interruptionWords(cause))
        : undefined;
    if (message) {
      const before = [cutTurnNotice(cause, "goal"), progress];
      return this.#continueWith(goalEntry(message), before);
    }
    const text = goalWords(value, this.task.goal);
    const waiting = stateEntry(TaskState.INPUT_REQUIRED, { text });
    await this.#recorder.append([progress, waiting]);
  }

  /**
   * Has the agent ask open questions where the user answers outside of the
   * protocol, if it does: a restart has ended the turn that asked there.
   */
  async askElsewhere(): Promise<void> {
    const { executor } = this.#options;
    const waits = (): boolean =>
      !this.#runner.isRunning &&
      !this.isStopping &&
      awaitedToolCalls(this.task).length > 0;
    if (!waits()) return;
    const { signal } = this.#stopped;
    const asks = await executor.asksElsewhere?.(this.task, signal);
    // Meanwhile an answer may have started it.
    if (asks && waits()) this.#runner.start();
  }

  /**
   * Stops the agent because the server closes. The task is left as after a
   * restart, and refuses messages.
   */
  async stop(): Promise<void> {
    this.#stopped.abort(STOPPING);
    await this.#runner.abort(STOPPING);
  }

  /** Closes the task, and lets any server have it. */
  async close(): Promise<void> {
    await this[Symbol.asyncDispose]();
    // Without it, the lease ends with the server.
    await this.#options.lease?.release().catch(() => undefined);
  }

  /**
   * Stops the agent and closes the task. The lease ends with the server, so that
   * others find work that is left.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#runner[Symbol.asyncDispose]();
    this.#options.lease?.lost.removeEventListener("abort", this.#lose);
  }

  /**
   * Ends all work at once and records nothing: another server may write the log
   * now.
   */
  readonly #lose = (): void => this.log.lose();

  /**
   * Records the end of a turn, and starts the next turn when a message is
   * queued, or the goal is not achieved.
   */
  async #end(outcome: Outcome): Promise<void> {
    if (outcome.case === "aborted" && outcome.reason === STOPPING) {
      // The server closes. The task is left as a restart of the server would
      // find it.
      await this.#recorder.append([]);
      const continues = this.#continuesAfter("stop");
      const recovery = recoverTask(this.task, { cause: "stop", continues });
      if (recovery.case === "interrupt") {
        await this.#recorder.append(recovery.entries);
      }
      return;
    }
    const { entries, next } = afterTurn(this.task, outcome);
    // While the server closes, a queued message waits for its next start, and
    // the task stays `working`.
    return next && !this.isStopping
      ? this.#continueWith(next, entries)
      : this.#recorder.append(entries);
  }

  /**
   * Starts the next turn with the entry of its message. The task stays
   * `working`.
   */
  async #continueWith(
    next: LogEntry,
    before: readonly LogEntry[],
    answer?: InboxAnswer,
  ): Promise<void> {
    const recorded = this.#recorder.append([...before, next], answer);
    this.#runner.start();
    await recorded;
  }
}

/** Whether a message replaces the arguments of calls that it answers. */
function changesArguments({ parts }: Message): boolean {
  return parts.some(({ modifiedArguments }) => modifiedArguments !== undefined);
}
