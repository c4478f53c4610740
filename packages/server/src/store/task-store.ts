import type { AuditRecord, TaskEvent, TaskState } from "@devtool/schema";

/** Which tasks to list. */
export interface TaskQuery {
  /** Only this principal's tasks; those of all when left out, as only recovery does. */
  readonly principal?: string;
  /** Only tasks of this conversation. */
  readonly contextId?: string;
  /** Only tasks in this state. */
  readonly state?: TaskState;
  /** At most so many, 1 or more. */
  readonly limit: number;
  /** Continues after the task with this last event: the `cursor` of an earlier page. */
  readonly cursor?: string;
}

/** One page of tasks, the latest changed first. */
export interface TaskPage {
  /** The last event of each task; it holds the task's id, context, state and time. */
  readonly tasks: readonly TaskEvent[];
  /** Continues the list; undefined when this page is the last. */
  readonly cursor: string | undefined;
}

/**
 * Keeps the logs of all tasks. It stores events and nothing else: what it lists and finds by is read off them
 * (`created.principal`, `context_id`, `state`, `message_id`).
 *
 * All implementations pass `task-store.contract.ts`.
 */
export interface TaskStore extends AsyncDisposable {
  /**
   * Appends events of one task, in order, all or none, and with them the audit records that explain them, which are
   * numbered and chained over all tasks. When the promise resolves they survive a crash of the machine.
   *
   * The first event's sequence must follow the task's last one (1 for a new task); otherwise rejects with
   * `Code.Aborted`: somebody else wrote. Rejects with `Code.ResourceExhausted` when the disk is full.
   */
  append(events: readonly TaskEvent[], audit?: readonly AuditRecord[]): Promise<void>;

  /** Reads the committed events after a sequence, in order. Ends at the last one; yields nothing for an unknown task. */
  readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent>;

  /** Lists tasks by their last events. */
  list(query: TaskQuery): Promise<TaskPage>;

  /**
   * Finds the last event of the task that changed last among those of a principal in a context. Costs the same however many
   * tasks the context has: each message of A2A 1.0 asks for it. Undefined when there is none.
   */
  findLatest(principal: string, contextId: string): Promise<TaskEvent | undefined>;

  /**
   * Finds the latest event by which a message of this principal entered a log (`created` or `message`).
   * Undefined when there is none.
   */
  findMessage(principal: string, messageId: string): Promise<TaskEvent | undefined>;

  /**
   * Checks that an append would be kept, as far as that can be known. Rejects with `Code.ResourceExhausted` when the disk is
   * full, with `Code.Unavailable` when nothing can be written for another reason.
   */
  assertWritable(): Promise<void>;

  /** Reads the committed audit records after a number, in order. */
  readAudit(after: bigint): AsyncIterable<AuditRecord>;
}
