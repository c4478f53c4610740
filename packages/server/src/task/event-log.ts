import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { failpoint } from "@devtool/internal/failpoint";
import { isObject } from "@devtool/internal/json";
import {
  type ApprovalMode,
  GoalState,
  reduceTask,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  type TaskState,
  type ToolCallDetail,
} from "@devtool/schema";
import { Code, DevtoolError, hasCode, quoted } from "../errors.ts";
import { SUCCEEDED } from "../operations.ts";
import type { InboxAnswer } from "../store/task-inbox.ts";
import { labelAfter, labelOf } from "../store/task-label.ts";
import type { TaskLease } from "../store/task-lease.ts";
import type { TaskLabel, TaskStore } from "../store/task-store.ts";
import {
  agentOptionsRecords,
  approvalModeRecord,
  auditRecords,
  createdRecords,
} from "./audit.ts";
import type { Conversation } from "./conversation.ts";
import { EventTail } from "./event-tail.ts";
import { isRefusal, type StoreFaults } from "./store-faults.ts";
import { TaskContent } from "./task-content.ts";
import { taskDeleted } from "./task-deleted.ts";
import type { TaskFeed } from "./task-feed.ts";
import { type HistoryNeed, TaskHead } from "./task-head.ts";
import type { TaskOperations } from "./task-operations.ts";
import { WorkTime } from "./work-time.ts";

/**
 * The maximum number of readers to wake in one turn of the event loop. Each of
 * them encodes and sends.
 */
const MAX_WOKEN = 64;

/** An event to append. The log adds the sequence, the time and the ids. */
export interface LogEntry {
  readonly payload: TaskEvent["payload"];
  /** The state after the event. Default: the state before it. */
  readonly state?: TaskState;
  /** The name of the model that answers. Default: none. */
  readonly model?: string;
  /** The detail of the tool call in the payload. Default: none. */
  readonly detail?: ToolCallDetail;
  /**
   * The approval mode to which the entry changes the session, which is audited.
   * Default: it stays as it is.
   */
  readonly approvalMode?: ApprovalMode | undefined;
}

/**
 * Returns an event with U+FFFD for each surrogate without a partner, as its
 * binary form has it: many readers refuse JSON with one.
 */
function wellFormed(event: TaskEvent): TaskEvent {
  const { payload, model, toolCallDetail } = event;
  // By far the most frequent one.
  const content = payload.case === "text" ? payload.value.text : payload;
  return isWellFormed(content) &&
    model.isWellFormed() &&
    isWellFormed(toolCallDetail)
    ? event
    : fromBinary(TaskEventSchema, toBinary(TaskEventSchema, event));
}

function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  if (ArrayBuffer.isView(value) || !isObject(value)) return true;
  for (const name in value) {
    if (!name.isWellFormed() || !isWellFormed(value[name])) return false;
  }
  return true;
}

/** A read of the content of a task, as it was after an event. */
interface Reading {
  readonly sequence: bigint;
  /** How many of the last messages are read; undefined for all. */
  readonly messages: number | undefined;
  readonly task: Promise<Task>;
}

interface EventLogOptions {
  readonly store: TaskStore;
  /** The task as the store has it. A new task has its ids only. */
  readonly task: Task;
  /** What the agent needs of the history. Default: what goes to a model. */
  readonly need?: HistoryNeed | undefined;
  /** The head as which the task was read. Default: the task has all content. */
  readonly head?: TaskHead | undefined;
  /**
   * The conversation of the task. Each event records whether the extension is
   * active in it.
   */
  readonly conversation: Conversation;
  readonly now: () => Date;
  /** Gets the durable events. Default: nobody watches. */
  readonly feed?: TaskFeed | undefined;
  /**
   * The lease under which the log is written. Default: none, because no other
   * server can use the store.
   */
  readonly lease?: TaskLease | undefined;
  /** What the server's observer hears of the task. Default: none listens. */
  readonly operations?: TaskOperations | undefined;
  /** Tells the operator that the store refuses. Default: nobody does. */
  readonly faults?: StoreFaults | undefined;
}

/**
 * The append-only log of one open task. It has one writer, its `OpenTask`,
 * and any number of readers.
 *
 * Readers see an event when it is durable. The writer sees it at once, in
 * `task`.
 */
export class EventLog {
  readonly conversation: Conversation;
  /** How long the task has worked since the log is open. */
  readonly work: WorkTime = new WorkTime();
  /** Why the store refused an append; undefined while it has not. */
  refusal: DevtoolError | undefined;
  readonly #failed = new AbortController();
  /**
   * Aborted when the store fails or the task is lost. Its reason is `failure`.
   */
  readonly failed: AbortSignal = this.#failed.signal;
  readonly #store: TaskStore;
  readonly #now: () => Date;
  readonly #feed: TaskFeed | undefined;
  readonly #fence: bigint | undefined;
  readonly #faults: StoreFaults | undefined;
  /** Undefined where nobody hears of appends. */
  readonly #operations: TaskOperations | undefined;
  readonly #tail: EventTail;
  readonly #head: TaskHead;
  /** The sequence of the last durable event. */
  #committed: bigint;
  /** The events that the store has not confirmed yet. */
  readonly #pending: TaskEvent[] = [];
  /** A read of content, which everybody who asks for it meanwhile gets. */
  #reading: Reading | undefined;
  /** Wakes the readers that wait for the next event. */
  readonly #waiting = new Set<() => void>();
  /**
   * Wakes the readers that are due. They are woken in batches, so that
   * thousands of them do not block the event loop.
   */
  #toWake: (() => void)[] = [];
  #waking: NodeJS.Immediate | undefined;
  #readers = 0;
  /** The principal of the task, once it was needed. */
  #principal = "";
  /** The label of the task, once it was needed. */
  #label: TaskLabel | undefined;

  constructor({
    store,
    task,
    need = "for-model",
    head,
    conversation,
    now,
    feed,
    lease,
    operations,
    faults,
  }: EventLogOptions) {
    this.#store = store;
    this.#faults = faults;
    this.#operations = operations?.hears("append") ? operations : undefined;
    this.#fence = lease?.fence;
    this.conversation = conversation;
    this.#now = now;
    this.#feed = feed;
    this.#head = new TaskHead(task, need, head);
    this.#committed = task.sequence;
    this.#tail = new EventTail(task.sequence);
    this.work.note(task.state);
  }

  /**
   * The task with all appended events, including those that are not durable
   * yet. Old messages of a long one have no content.
   */
  get task(): Task {
    return this.#head.task;
  }

  /** Whether no other server can use the store. */
  get hasOneWriter(): boolean {
    return this.#fence === undefined;
  }

  /** Returns the same with the content of the last messages. Default: of all. */
  async whole(messages?: number): Promise<Task> {
    if (this.#head.hasContent(messages)) return this.task;
    const { sequence } = this.#head;
    const current = this.#reading;
    if (current?.sequence === sequence && current.messages === messages) {
      return current.task;
    }
    const reading = { sequence, messages, task: this.#readContent(messages) };
    this.#reading = reading;
    return reading.task.finally(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
  }

  /**
   * Resolves when all events up to a sequence are durable. Rejects with the
   * log's failure when they cannot be.
   */
  async waitUntilDurable(sequence: bigint): Promise<void> {
    while (this.#committed < sequence) {
      this.failed.throwIfAborted();
      await this.#waitForMore(this.failed);
    }
  }

  /**
   * The error of the store after which the log rejects appends. The task
   * must be closed and opened again.
   */
  get failure(): Error | undefined {
    return this.failed.aborted ? this.failed.reason : undefined;
  }

  /**
   * Whether the log has no readers and all events are durable, so that it can
   * be closed.
   */
  get idle(): boolean {
    return this.#readers === 0 && this.#committed === this.#head.sequence;
  }

  /**
   * Appends entries, all or none. `task` includes them at once; the promise
   * resolves when they are durable. Rejects when the store fails, and always
   * after that.
   *
   * @param answer replies to an entry of the inbox together with the append
   */
  async append(
    entries: readonly LogEntry[],
    answer?: InboxAnswer,
  ): Promise<void> {
    this.failed.throwIfAborted();
    const time = timestampFromDate(this.#now());
    const before = entries.some(({ payload }) => payload.case === "toolCall")
      ? this.#head.task
      : undefined;
    const events = entries.map((entry) => this.#record(entry, time));
    const changes = events.filter(
      (_event, index) => entries[index]?.approvalMode !== undefined,
    );
    const changeRecords = changes.map((event) =>
      approvalModeRecord(this.#head.task.principal, event),
    );
    const audit = [
      ...createdRecords(events),
      ...changeRecords,
      ...agentOptionsRecords(() => this.#head.task.principal, events),
      ...(before ? auditRecords(before, events) : []),
    ];
    this.conversation.earlier.noteChange(this.#head.taskId);
    const operation = this.#operations?.beginAppend(
      this.#head.task,
      events,
      before,
    );
    this.#pending.push(...events);
    try {
      await this.#store.append({ events, audit, fence: this.#fence, answer });
      operation?.finish(SUCCEEDED);
      this.#faults?.noteSuccess();
      this.#feed?.wake(this.#head.taskId);
    } catch (reason) {
      operation?.finish({ outcome: "failed", error: reason });
      if (this.#fence !== undefined && hasCode(reason, Code.Aborted)) {
        this.lose();
      } else {
        this.#faults?.note(reason);
        if (isRefusal(reason)) this.refusal = reason;
        this.#fail(reason);
      }
      throw this.failure ?? reason;
    }
    failpoint("devtool:log.publish.before");
    this.#pending.splice(0, events.length);
    this.#tail.push(events);
    const last = events.at(-1);
    this.#committed = last?.sequence ?? this.#committed;
    this.conversation.earlier.noteChange(this.#head.taskId);
    this.#label &&= events.reduce(labelAfter, this.#label);
    if (last && this.#feed?.isWatched) {
      this.#principal ||= this.#head.task.principal;
      this.#label ??= labelOf(this.#head.task);
      const principal = this.#principal;
      this.#feed.note({ last, principal, ...this.#label });
    }
    this.#wakeReaders();
    failpoint("devtool:log.publish.after");
    this.storeHead();
  }

  /** Puts the head into the store, if the log has grown much since the last. */
  storeHead(): void {
    // The store has nothing that is not durable.
    if (!this.#head.isDue || this.#pending.length > 0) return;
    // Without it, the task is read from an earlier event. Whether the store can
    // be written shows at the next append.
    this.#store.putHead(this.#head.store()).catch(() => undefined);
  }

  /** Reads the content that the agent needs, unless it is in memory. */
  async readNeeded(): Promise<void> {
    while (!this.#head.hasNeeded) {
      const { history, sequence } = await this.whole(this.#head.neededMessages);
      if (sequence === this.#head.sequence) this.#head.takeNeeded(history);
    }
  }

  /** Yields the durable events, as `TaskHandle.read` does. */
  async *read(
    after: bigint,
    signal: AbortSignal,
  ): AsyncIterable<readonly TaskEvent[]> {
    this.#readers++;
    let position = after;
    try {
      for (;;) {
        signal.throwIfAborted();
        const recent = this.#tail.after(position);
        if (recent && recent.length > 0) {
          // Together: each `yield` costs every reader time.
          yield recent;
          position += BigInt(recent.length);
        }
        if (!recent) {
          const before = position;
          for await (const event of this.#store.readEvents(
            this.#head.taskId,
            position,
          )) {
            yield [event];
            position = event.sequence;
          }
          // The store has the rest, unless the task was deleted.
          if (position === before && position < this.#committed) {
            throw this.failure ?? taskDeleted(this.#head.taskId);
          }
        }
        if (position < this.#committed) continue;
        this.failed.throwIfAborted();
        await this.#waitForMore(signal);
      }
    } finally {
      this.#readers--;
    }
  }

  /**
   * Ends the log because another server may write it now. Readers end with an
   * error after which clients connect again, and appends are rejected.
   */
  lose(): void {
    this.#fail(
      new DevtoolError(
        `task ${quoted(this.#head.taskId)} has moved to another server`,
        Code.Unavailable,
        {
          remedy: "connect again",
        },
      ),
    );
  }

  /** Ends the log because its task was deleted. Readers end with an error. */
  noteDeleted(): void {
    this.#fail(taskDeleted(this.#head.taskId));
  }

  /** Reads content from the store, and adds what is not there yet. */
  async #readContent(messages: number | undefined): Promise<Task> {
    const { taskId } = this.#head;
    const content = new TaskContent(this.#head, messages);
    await content.read(this.#store);
    while (content.sequence < this.#committed) {
      const before = content.sequence;
      await content.readOn(this.#store);
      if (content.sequence === before) {
        throw this.failure ?? taskDeleted(taskId);
      }
    }
    for (const event of this.#pending) content.add(event);
    return content.of(this.task) ?? this.#readContent(undefined);
  }

  /** Makes an event of an entry and folds it into the task. */
  #record(entry: LogEntry, time: Timestamp): TaskEvent {
    const { payload, detail, state = this.#head.state, model = "" } = entry;
    const created =
      payload.case === "created"
        ? payload.value.sessionSettings?.approvalMode
        : undefined;
    const { userTier, goalState } = this.#stateAfter(payload) ?? this.#head;
    // Not by `create`, which takes several times as long and as much memory.
    const event = wellFormed({
      $typeName: "devtool.v1alpha.TaskEvent",
      sequence: this.#head.sequence + 1n,
      taskId: this.#head.taskId,
      contextId: this.#head.contextId,
      time,
      state,
      model,
      extensionActive: this.conversation.extensionActive,
      agentSessionId: this.conversation.agentSessionId,
      approvalMode: entry.approvalMode ?? created ?? this.#head.approvalMode,
      userTier,
      goalState,
      mcpServersAdded: this.#head.hasAddedServers || this.#addsServers(payload),
      toolCallDetail: detail,
      payload,
    });
    if (state !== this.#head.state) this.work.note(state);
    this.#head.add(event);
    return event;
  }

  /** Whether an event brings a message with MCP servers to the history. */
  #addsServers(payload: LogEntry["payload"]): boolean {
    switch (payload.case) {
      case "message":
        return payload.value.mcpServers.length > 0;
      case "messageTaken": {
        const { messageId } = payload.value;
        return this.#head.task.queuedMessages.some(
          ({ message }) =>
            message?.messageId === messageId && message.mcpServers.length > 0,
        );
      }
      default:
        return false;
    }
  }

  /**
   * Returns what an event changes beyond its payload: the tier of who sent what
   * the agent works on, and the state of the goal. Undefined for nothing.
   */
  #stateAfter(
    payload: LogEntry["payload"],
  ): Pick<TaskEvent, "userTier" | "goalState"> | undefined {
    switch (payload.case) {
      case "created":
      case "message":
      case "messageTaken":
      case "goalProgress": {
        const { task } = this.#head;
        const { sender, goalProgress } = reduceTask(
          task,
          create(TaskEventSchema, { payload, sequence: task.sequence + 1n }),
        );
        return {
          userTier: sender?.userTier ?? "",
          goalState: goalProgress?.state ?? GoalState.UNSPECIFIED,
        };
      }
      default:
        return undefined;
    }
  }

  #fail(reason: unknown): void {
    this.#failed.abort(
      reason instanceof Error
        ? reason
        : new Error("the store failed", { cause: reason }),
    );
    this.#wakeReaders();
  }

  /** Waits until there may be another event, or the signal aborts. */
  #waitForMore(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake);
      // A signal that has aborted already calls no listener.
      if (signal.aborted) wake();
    });
  }

  #wakeReaders(): void {
    for (const wake of this.#waiting) this.#toWake.push(wake);
    this.#waiting.clear();
    if (!this.#waking) this.#wakeSome();
  }

  #wakeSome(): void {
    for (const wake of this.#toWake.splice(0, MAX_WOKEN)) wake();
    this.#waking =
      this.#toWake.length > 0
        ? setImmediate(() => this.#wakeSome())
        : undefined;
  }
}
