import { create } from "@bufbuild/protobuf";
import {
  confirmationsOf,
  deriveState,
  isTerminal,
  type Message,
  MessageSchema,
  openToolCalls,
  Role,
  StateChangeSchema,
  type Summary,
  type Task,
  type TaskCreated,
  TaskState,
  TextContentSchema,
  type ToolCall,
  ToolCallStatus,
  type Usage,
} from "@devtool/schema";
import type { AgentEvent, AgentExecutor, Turn } from "../agent/agent-executor.ts";
import { Code, DevtoolError } from "../errors.ts";
import type { CallUpdate } from "../tool/call-update.ts";
import { Confirmations } from "../tool/confirmations.ts";
import { answeredCalls } from "./answer.ts";
import { callEntries } from "./call-entry.ts";
import type { EventLog, LogEntry } from "./event-log.ts";
import { recoverTask } from "./recover.ts";

/** So many pieces of an answer may wait to be recorded before the agent is held back. */
const MAX_WAITING = 1024;

/** The reason with which a session aborts its agent when the server stops: the task is left as a crash would leave it. */
const STOPPING = new DevtoolError("the server is stopping", Code.Unavailable);
const CANCELED = new DevtoolError("the task was canceled", Code.Canceled);

/** A run of the agent: its end, and the way to end it. */
interface Run {
  readonly controller: AbortController;
  readonly ended: Promise<void>;
}

/** How a run of the agent came to its end: as it said itself, or cut short for a reason. */
type Outcome =
  | { readonly case: "ended"; readonly entry: LogEntry }
  | { readonly case: "cut"; readonly reason: unknown };

/** What a session is made of. */
export interface TaskSessionOptions {
  readonly log: EventLog;
  readonly executor: AgentExecutor;
  /** Finds what was said in the tasks that one goes on from. */
  readonly earlier: (task: Task) => Promise<readonly Message[]>;
}

/** What came of summarizing a history: a summary if there was something to gain, and what it used. */
interface Summarized {
  readonly summary: Summary | undefined;
  readonly usage: Usage | undefined;
}

/** One live task: the only writer of its log. Starts the agent, records what it does, takes messages, cancels. */
export class TaskSession implements AsyncDisposable {
  readonly log: EventLog;
  readonly #executor: AgentExecutor;
  readonly #earlier: TaskSessionOptions["earlier"];
  readonly #confirmations = new Confirmations();
  #run: Run | undefined;
  /** The model that answers, as it was chosen when the run began. */
  #model = "";
  /** Pieces of the answer that wait for the end of this turn of the event loop, to be recorded together. */
  #waiting: LogEntry[] = [];
  #flushing: NodeJS.Immediate | undefined;

  constructor({ log, executor, earlier }: TaskSessionOptions) {
    this.log = log;
    this.#executor = executor;
    this.#earlier = earlier;
  }

  /** The task as its log has it now. */
  get task(): Task {
    return this.log.task;
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
   * Takes a client's message: an answer to open questions, or what the agent is to do next. Resolves when it is durable,
   * with the sequence of its event. Throws a `DevtoolError` when the task cannot take it now; nothing has changed then.
   */
  async accept(message: Message): Promise<bigint> {
    const answered = callEntries(this.task, answeredCalls(this.task, message));
    const sequence = this.task.sequence + 1n;
    const entries: LogEntry[] = [
      { state: TaskState.WORKING, payload: { case: "message", value: message } },
      ...answered,
    ];
    // The agent begins while the disk writes: what it does is in the log behind the message, so it is durable no sooner.
    const committed = this.#append(entries);
    for (const confirmation of confirmationsOf(message)) this.#confirmations.answer(confirmation);
    if (!this.#run) this.#start();
    await committed;
    return sequence;
  }

  /**
   * Cancels the task: the agent and everything it started end, open calls become CANCELLED. Resolves when that is
   * recorded. Throws `Code.FailedPrecondition` when the task has already ended.
   */
  async cancel(): Promise<void> {
    if (isTerminal(this.task.state)) throw alreadyEnded(this.task);
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
    await this.#log([...used, ...(fits ? [{ payload: { case: "summary", value: fits } as const }] : [])]);
    return fits;
  }

  #assertResting(): void {
    if (!this.#run) return;
    throw new DevtoolError(
      `task ${JSON.stringify(this.task.id)} is working: wait for it or cancel it`,
      Code.FailedPrecondition,
    );
  }

  /** Brings a task that a stop of the server cut to where it can go on (R1). To be called once, before anything else. */
  async recover(): Promise<void> {
    const recovery = recoverTask(this.task);
    if (recovery.case === "interrupt") await this.log.append(recovery.entries);
    if (recovery.case === "resume") this.#start();
  }

  /** Stops the agent without canceling the task: it is left as after a restart. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#run?.controller.abort(STOPPING);
    await this.#run?.ended;
    await this.#executor[Symbol.asyncDispose]();
  }

  #start(): void {
    const controller = new AbortController();
    this.#run = { controller, ended: this.#execute(controller.signal) };
  }

  async #execute(signal: AbortSignal): Promise<void> {
    const outcome = await this.#work(signal).then(
      (entry): Outcome => ({ case: "ended", entry }),
      (reason: unknown): Outcome => ({ case: "cut", reason: signal.aborted ? signal.reason : reason }),
    );
    // Before the end is recorded: a message that follows it starts a run of its own.
    this.#run = undefined;
    // A log that failed takes no more: its session is opened anew, and recovers.
    if (!this.log.failure) await this.#end(outcome).catch(() => undefined);
  }

  /** Lets the agent work and gives what is to be recorded as the end of it. */
  async #work(signal: AbortSignal): Promise<LogEntry> {
    this.#model = await this.#executor.modelFor(this.task);
    // The agent begins while the disk writes: what it records is behind this. What failed is told by the next record.
    this.#append([]).catch(() => undefined);
    const log = this.log;
    const earlier = await this.#earlier(this.task);
    const turn: Turn = {
      get task() {
        return log.task;
      },
      earlier,
      confirmations: this.#confirmations,
    };
    for await (const event of this.#executor.execute(turn, signal)) {
      if (event.case === "end" || event.case === "reply") return endEntry(event, this.task);
      const held = this.#record(event);
      if (held) await held;
    }
    return stateEntry(TaskState.COMPLETED);
  }

  /** Records what the agent did. Gives what to wait for before it goes on: a call that runs is durable then; all else is a moment later. */
  #record(event: Exclude<AgentEvent, Ending>): Promise<void> | undefined {
    if (event.case === "toolCalls") return this.#recordCalls(event.value);
    this.#waiting.push({ payload: payloadOf(event), model: this.#model });
    // What the agent asks next depends on a summary: it must be in the task when it goes on.
    const held = event.case === "summary" || this.#waiting.length >= MAX_WAITING || this.log.failure;
    if (held) return this.#log([]);
    this.#flushing ??= setImmediate(() => this.#log([]).catch(() => undefined));
    return undefined;
  }

  /** A call may run, and show more of what it does, once it is durable that it does. What failed is told by the next record. */
  #recordCalls(updates: readonly CallUpdate[]): Promise<void> | undefined {
    const recorded = this.#append(callEntries(this.task, updates));
    if (updates.some(({ call }) => call.status === ToolCallStatus.EXECUTING)) return recorded;
    recorded.catch(() => undefined);
    return undefined;
  }

  /** Appends entries and, when they leave the task in another state, the change of it. */
  async #append(entries: readonly LogEntry[]): Promise<void> {
    const appended = entries.length > 0 ? [this.#log(entries)] : [];
    const state = deriveState(this.task);
    if (state !== this.task.state) appended.push(this.#log([stateEntry(state)]));
    await Promise.all(appended);
  }

  async #end(outcome: Outcome): Promise<void> {
    if (outcome.case === "cut" && outcome.reason === STOPPING) return this.#interrupt();
    const entry = outcome.case === "ended" ? outcome.entry : cutEntry(outcome.reason);
    const left = isTerminal(entry.state ?? TaskState.UNSPECIFIED) ? openToolCalls(this.task) : [];
    const cancelled = left.map((call) => ({ call: cancelledCall(call) }));
    await this.#log([...callEntries(this.task, cancelled), entry]);
  }

  /** Appends what waits and then entries, under the name of the model that is answering (STREAM-1). */
  async #log(entries: readonly LogEntry[]): Promise<void> {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const all = [...this.#waiting, ...entries.map((entry) => ({ ...entry, model: this.#model }))];
    this.#waiting = [];
    if (all.length > 0) await this.log.append(all);
  }

  async #interrupt(): Promise<void> {
    await this.#log([]);
    const recovery = recoverTask(this.task);
    if (recovery.case === "interrupt") await this.#log(recovery.entries);
  }
}

type Ending = Extract<AgentEvent, { case: "end" | "reply" }>;

/** The end that an agent came to. A failure is an error, whoever says so. */
function endEntry(ending: Ending, { id, sequence }: Task): LogEntry {
  if (ending.case === "reply") {
    const parts = [...ending.value];
    const value = create(MessageSchema, { messageId: `${id}:${sequence + 1n}`, role: Role.AGENT, parts });
    return { state: TaskState.COMPLETED, payload: { case: "reply", value } };
  }
  const { state, text } = ending.value;
  return stateEntry(state, state === TaskState.FAILED ? { error: text } : { text });
}

/** The end of a run that was cut short: by a client, or by what failed. */
function cutEntry(reason: unknown): LogEntry {
  if (reason === CANCELED) return stateEntry(TaskState.CANCELED);
  return stateEntry(TaskState.FAILED, { error: DevtoolError.from(reason).message });
}

function stateEntry(state: TaskState, change: { readonly text?: string; readonly error?: string } = {}): LogEntry {
  return { state, payload: { case: "stateChange", value: create(StateChangeSchema, change) } };
}

function payloadOf(event: Exclude<AgentEvent, Ending | { case: "toolCalls" }>): LogEntry["payload"] {
  return event.case === "text" ? { case: "text", value: create(TextContentSchema, { text: event.value }) } : event;
}

function cancelledCall({ confirmationRequest: _closed, ...call }: ToolCall): ToolCall {
  return { ...call, status: ToolCallStatus.CANCELLED };
}

function alreadyEnded(task: Task): DevtoolError {
  const state = TaskState[task.state].toLowerCase();
  return new DevtoolError(
    `task ${JSON.stringify(task.id)} is already ${state}: it cannot be canceled`,
    Code.FailedPrecondition,
    {
      details: { field: "task_id", value: task.id },
    },
  );
}
