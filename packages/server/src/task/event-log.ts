import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Task, type TaskEvent, TaskEventSchema, type TaskState, type ToolCallDetail } from "@devtool/schema";
import type { TaskStore } from "../store/task-store.ts";
import { abortable } from "../stream/abortable.ts";
import { auditRecords } from "./audit.ts";
import { EventTail } from "./event-tail.ts";
import { LazyFold } from "./lazy-fold.ts";

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
  readonly now: () => Date;
}

/** The append-only log of one live task: one writer (its session), any number of readers. */
export class EventLog {
  readonly #store: TaskStore;
  readonly #now: () => Date;
  readonly #tail: EventTail;
  readonly #fold: LazyFold;
  #committed: bigint;
  #wake = Promise.withResolvers<void>();
  #failure: Error | undefined;
  #readers = 0;

  constructor({ store, task, now }: EventLogOptions) {
    this.#store = store;
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
    try {
      await this.#store.append(events, before && auditRecords(before, events));
    } catch (reason) {
      this.#fail(reason);
      throw reason;
    }
    this.#publish(events);
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
        const wake = this.#wake.promise;
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
        await abortable(wake, signal);
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
      payload,
      ...(detail && { toolCallDetail: detail }),
    });
    this.#fold.add(event);
    return event;
  }

  #publish(events: readonly TaskEvent[]): void {
    this.#tail.push(events);
    this.#committed = events.at(-1)?.sequence ?? this.#committed;
    this.#wakeReaders();
  }

  #fail(reason: unknown): void {
    this.#failure = reason instanceof Error ? reason : new Error("the store failed", { cause: reason });
    this.#wakeReaders();
  }

  #wakeReaders(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
