import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Task, type TaskEvent, TaskEventSchema, type TaskState, type ToolCallDetail } from "@devtool/schema";
import { failpoint } from "../failpoint.ts";
import type { TaskStore } from "../store/task-store.ts";
import { auditRecords } from "./audit.ts";
import type { Conversation } from "./conversation.ts";
import { EventTail } from "./event-tail.ts";
import { LazyFold } from "./lazy-fold.ts";

/** The maximum number of readers that are woken in one turn of the event loop: each of them encodes and sends. */
const MAX_WOKEN = 64;

/** What to add to a log: sequence, time and ids are the log's own. */
export interface LogEntry {
  readonly payload: TaskEvent["payload"];
  /** The state after the event; the state before it when left out. */
  readonly state?: TaskState;
  /** The model that is answering; none when left out. */
  readonly model?: string;
  /** What the scheduler says of the tool call in the payload. */
  readonly detail?: ToolCallDetail;
}

/** What a log needs. */
export interface EventLogOptions {
  readonly store: TaskStore;
  /** The task as the store has it; for a new one, empty but for its ids. */
  readonly task: Task;
  /** The conversation of the task; each event records its state at that time. */
  readonly conversation: Conversation;
  readonly now: () => Date;
}

/** The append-only log of one live task: one writer (its session), any number of readers. */
export class EventLog {
  readonly conversation: Conversation;
  readonly #store: TaskStore;
  readonly #now: () => Date;
  readonly #tail: EventTail;
  readonly #fold: LazyFold;
  #committed: bigint;
  /** Wakes those who read and wait for more. */
  readonly #waiting = new Set<() => void>();
  /** Wakes those whose turn comes: with thousands of readers, others are served in between. */
  #toWake: (() => void)[] = [];
  #waking: NodeJS.Immediate | undefined;
  #failure: Error | undefined;
  #readers = 0;

  constructor({ store, task, conversation, now }: EventLogOptions) {
    this.#store = store;
    this.conversation = conversation;
    this.#now = now;
    this.#fold = new LazyFold(task);
    this.#committed = task.sequence;
    this.#tail = new EventTail(task.sequence);
  }

  /** The task with everything appended, also what is not durable yet: what the writer decides by. */
  get task(): Task {
    return this.#fold.task;
  }

  /** Why the log takes no more, once the store failed; the session must be opened anew. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** Tells whether nobody reads and all is durable: the log may be closed and opened anew. */
  get idle(): boolean {
    return this.#readers === 0 && this.#committed === this.#fold.sequence;
  }

  /**
   * Appends entries, all or none. `task` shows them at once; readers see them when they are durable, which is when the
   * promise resolves. Rejects when the store fails, and from then on always.
   */
  async append(entries: readonly LogEntry[]): Promise<void> {
    if (this.#failure) throw this.#failure;
    const time = timestampFromDate(this.#now());
    const before = entries.some(({ payload }) => payload.case === "toolCall") ? this.#fold.task : undefined;
    const events = entries.map((entry) => this.#record(entry, time));
    this.conversation.earlier.noteChange(this.#fold.taskId);
    try {
      await this.#store.append(events, before && auditRecords(before, events));
    } catch (reason) {
      this.#fail(reason);
      throw reason;
    }
    failpoint("devtool:log.publish.before");
    this.#publish(events);
    failpoint("devtool:log.publish.after");
  }

  /**
   * Reads the durable events after a sequence, then each one as it becomes durable, without end: the caller leaves the
   * loop, or aborts. Throws the signal's reason when it aborts.
   */
  async *read(after: bigint, signal: AbortSignal): AsyncIterable<TaskEvent> {
    this.#readers++;
    let position = after;
    try {
      for (;;) {
        signal.throwIfAborted();
        const recent = this.#tail.after(position);
        // Without waiting between them: what each event costs here, it costs each reader.
        for (const event of recent ?? []) {
          yield event;
          position = event.sequence;
        }
        if (!recent)
          for await (const event of this.#store.readEvents(this.#fold.taskId, position)) {
            yield event;
            position = event.sequence;
          }
        if (position < this.#committed) continue;
        if (this.#failure) throw this.#failure;
        await this.#more(signal);
      }
    } finally {
      this.#readers--;
    }
  }

  #record({ payload, detail, state = this.#fold.state, model = "" }: LogEntry, time: Timestamp): TaskEvent {
    const event = create(TaskEventSchema, {
      sequence: this.#fold.sequence + 1n,
      taskId: this.#fold.taskId,
      contextId: this.#fold.contextId,
      time,
      state,
      model,
      extensionActive: this.conversation.extensionActive,
      payload,
      ...(detail && { toolCallDetail: detail }),
    });
    this.#fold.add(event);
    return event;
  }

  #publish(events: readonly TaskEvent[]): void {
    this.#tail.push(events);
    this.#committed = events.at(-1)?.sequence ?? this.#committed;
    this.conversation.earlier.noteChange(this.#fold.taskId);
    this.#wakeReaders();
  }

  #fail(reason: unknown): void {
    this.#failure = reason instanceof Error ? reason : new Error("the store failed", { cause: reason });
    this.#wakeReaders();
  }

  /** Waits until there may be more to read, or the signal aborts. One promise for each reader: most of them wait most of the time. */
  #more(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener("abort", wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener("abort", wake);
    });
  }

  #wakeReaders(): void {
    for (const wake of this.#waiting) this.#toWake.push(wake);
    this.#waiting.clear();
    if (!this.#waking) this.#wakeSome();
  }

  #wakeSome(): void {
    for (const wake of this.#toWake.splice(0, MAX_WOKEN)) wake();
    this.#waking = this.#toWake.length > 0 ? setImmediate(() => this.#wakeSome()) : undefined;
  }
}
