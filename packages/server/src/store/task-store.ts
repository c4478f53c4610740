import type { AuditRecord, TaskEvent, TaskState } from "@devtool/schema";
import type { AgentSessions } from "./agent-sessions.ts";
import type { ApprovalStorage } from "./approval-storage.ts";
import type { KeyStorage } from "./key-storage.ts";
import type { PushConfigStore } from "./push-config-store.ts";
import type { TaskChanges } from "./task-changes.ts";
import type { InboxAnswer, TaskInbox } from "./task-inbox.ts";
import type { TaskLeases } from "./task-lease.ts";
import type { UntoldCancelStorage } from "./untold-cancel-storage.ts";

/** Selects the tasks to list. */
export interface TaskQuery {
  /**
   * Only tasks of this principal. Default: those of all principals.
   */
  readonly principal?: string | undefined;

  /** Only tasks of this conversation. Default: all. */
  readonly contextId?: string | undefined;

  /** Only tasks in this state. Default: all. */
  readonly state?: TaskState | undefined;

  /** Only tasks of this agent. Default: all. */
  readonly agent?: string | undefined;

  /** Only tasks in this workspace. Default: all. */
  readonly workspacePath?: string | undefined;

  /**
   * Only tasks whose title contains this text, compared by `foldTitle`.
   * Default: all.
   */
  readonly titleContains?: string | undefined;

  /** Only tasks whose id begins with this text. Default: all. */
  readonly idPrefix?: string | undefined;

  /** The maximum number of tasks, 1 or more. */
  readonly limit: number;

  /**
   * The `cursor` of an earlier page, to continue after it. Default: the first
   * page.
   */
  readonly cursor?: string | undefined;
}

/**
 * The fields that lists show of a task, and filter by, in addition to its last
 * event.
 */
export interface TaskLabel {
  /** The title; empty for a task without one. */
  readonly title: string;
  /** The real path of the workspace; empty for a task without one. */
  readonly workspacePath: string;
  /** The agent; empty for a task that began before its name was recorded. */
  readonly agent: string;
  /**
   * The number of messages that began or continued its turns, and of slash
   * commands that did.
   */
  readonly messageCount: number;
}

/** A task in a list. */
export interface ListedTask extends TaskLabel {
  /** The last event. It has the task's id, context, state and time. */
  readonly last: TaskEvent;
  /** Whose task it is. */
  readonly principal: string;
}

/**
 * A page of tasks, sorted by the time of their last change, the latest first.
 */
export interface TaskPage {
  readonly tasks: readonly ListedTask[];

  /** The cursor of the next page; undefined when this page is the last. */
  readonly cursor: string | undefined;
}

/** A task as a store has it, with its size. */
export interface StoredTask {
  readonly taskId: string;
  readonly contextId: string;
  readonly principal: string;
  readonly state: TaskState;

  /** The sequence and the time of the last event, in milliseconds since 1970. */
  readonly sequence: bigint;
  readonly timeMs: number;

  /**
   * The size in bytes of its events as they are encoded. What a database adds to
   * them, such as indexes, does not count.
   */
  readonly bytes: number;
}

/** What one transaction adds to a store. */
export interface TaskAppend {
  /** Events of one task, in order. */
  readonly events: readonly TaskEvent[];

  /**
   * The audit records that explain the events. The store numbers and chains
   * them over all tasks. Default: none.
   */
  readonly audit?: readonly AuditRecord[] | undefined;

  /**
   * The fence of the lease under which the task is written. A store that is
   * `shared` rejects the append with `Code.Aborted` when the task has been
   * acquired again since, and so it rejects the first event of a task whose
   * message is recorded already. Default: 0, the fence of a task that was never
   * acquired.
   */
  readonly fence?: bigint | undefined;

  /**
   * Replies to an entry of the task's inbox. Only for a store that is `shared`.
   * Default: nothing.
   */
  readonly answer?: InboxAnswer | undefined;
}

/** A task as `TaskHead` encodes it, which a store keeps beside the log. */
export interface HeadRow {
  readonly taskId: string;

  /** The sequence of the last event that is in it. */
  readonly sequence: bigint;

  /** A `StoredHead`. */
  readonly data: Uint8Array;
}

/** A task to delete. */
export interface TaskDeletion {
  readonly taskId: string;

  /** The sequence of its last event, as the caller knows it. */
  readonly sequence: bigint;

  /**
   * The audit record of the deletion. Its time is that of the deletion. The
   * store numbers and chains it.
   */
  readonly record: AuditRecord;
}

/**
 * Stores the logs of all tasks, and the audit log. Disposing of it writes what
 * is pending and closes it.
 *
 * A store knows events only. The columns by which it lists and finds tasks are
 * read from them: `created.principal`, `context_id`, `state`, `message_id` and
 * those of `labelOfEvents`. All implementations pass `testTaskStore` of
 * `@devtool/server/testing/contracts`.
 */
export interface TaskStore extends AsyncDisposable {
  /**
   * Appends events to the log of one task, in order, with what belongs to them,
   * all or none. Without events, appends the audit records alone, as the copy
   * of a store does.
   *
   * When the promise resolves, the events survive a crash of the machine.
   *
   * The sequence of the first event must follow that of the task's last event;
   * it is 1 for a new task. Otherwise rejects with `Code.Aborted`, because
   * there was another writer. Rejects with `Code.ResourceExhausted` when the
   * disk is full, and with `Code.Unavailable` when the store cannot write for
   * another reason.
   */
  append(append: TaskAppend): Promise<void>;

  /**
   * Deletes a task: its events, its head, what its audit records show, its push configs
   * with their progress, the ids of its messages, and all else that the store
   * has of it. Adds the audit record of that, all or nothing. Another task
   * becomes the latest of its context.
   *
   * When the promise resolves, no reader finds the task, and that survives a
   * crash of the machine. A store may overwrite the events of a large task
   * afterwards. The ids of messages are kept for a day (`findMessage`).
   *
   * Rejects with `Code.Aborted` when the sequence is not that of the task's last
   * event, and so for an unknown task, and as `append` does when the store
   * cannot write.
   */
  delete(deletion: TaskDeletion): Promise<void>;

  /**
   * Reads the committed events of a task after a sequence, in order. Ends after
   * the last one; yields nothing for an unknown task.
   */
  readEvents(taskId: string, after: bigint): AsyncIterable<TaskEvent>;

  /**
   * Keeps the head of a task in place of one of the same or an earlier event, so
   * that the task is opened without its older events. Does nothing for an
   * unknown task, and where it has the head of a later event.
   */
  putHead(head: HeadRow): Promise<void>;

  /**
   * Reads the `data` of the head of a task. Undefined when there is none, as for
   * all tasks that are not long.
   */
  readHead(taskId: string): Promise<Uint8Array | undefined>;

  /**
   * Lists the tasks that match all conditions of the query, a page at a time,
   * the one that changed last first.
   */
  list(query: TaskQuery): Promise<TaskPage>;

  /**
   * Reads the sizes of all tasks, in an order of the store's choice, a few at a
   * time. Tasks that begin or are deleted meanwhile may be missing.
   *
   * @param states the states of the tasks that are needed: others may be read,
   * too. Default: all
   */
  readSizes(states?: readonly TaskState[]): AsyncIterable<StoredTask>;

  /**
   * Finds the last event of the principal's latest task in a context: the one
   * that changed last, of two at the same time the one that was appended last.
   * Undefined when there is none.
   *
   * Takes the same time however many tasks the context has, because each
   * message of A2A 1.0 calls it.
   */
  findLatest(
    principal: string,
    contextId: string,
  ): Promise<TaskEvent | undefined>;

  /**
   * Finds the latest event that records a message of the principal: `created`,
   * `message` or `message_queued`. Undefined when there is none.
   *
   * For a message of a task that was deleted within a day, returns an event
   * without a payload that has the id of the task and the time of the deletion.
   */
  findMessage(
    principal: string,
    messageId: string,
  ): Promise<TaskEvent | undefined>;

  /**
   * Checks whether an append would succeed, as far as that can be known.
   * Rejects with `Code.ResourceExhausted` when the disk is full, and with
   * `Code.Unavailable` when the store cannot write for another reason.
   */
  assertWritable(): Promise<void>;

  /**
   * Reads the committed audit records after a number, in order. 0 starts at the
   * first record.
   */
  readAudit(after: bigint): AsyncIterable<AuditRecord>;
}

/** The parts of a store that several servers share. */
export interface SharedTasks {
  /** The leases of the tasks, so that each has one writer. */
  readonly leases: TaskLeases;

  /** Notifies when another server has written. */
  readonly changes: TaskChanges;

  /** Takes requests to the server that runs their task. */
  readonly inbox: TaskInbox;

  /**
   * Keeps the keys that sign agent cards and push notifications: clients see
   * one server.
   */
  readonly keys: KeyStorage;

  /** Keeps the approvals that the operator gave for good. */
  readonly approvals: ApprovalStorage;

  /** Keeps the cancellations that called agents could not be told. */
  readonly untoldCancels: UntoldCancelStorage;

  /**
   * Lets one server at a time work in a conversation that its agent keeps
   * itself.
   */
  readonly sessions: AgentSessions;

  /**
   * Lets the id of an old message be used for a new task, which `append`
   * refuses otherwise. Does nothing when the id has been used again since.
   *
   * @param recorded the event that records the old message
   */
  forgetMessage(
    principal: string,
    messageId: string,
    recorded: TaskEvent,
  ): Promise<void>;
}

/** The store of a server: its tasks and their push configs. */
export interface ServerStore extends TaskStore {
  /**
   * The push configs of the tasks in this store. Must not be used after the
   * store is disposed of.
   */
  readonly pushConfigs: PushConfigStore;

  /**
   * The parts that several servers share; undefined when only one server at a
   * time can use the store.
   */
  readonly shared?: SharedTasks | undefined;

  /**
   * Writes all that the store has at one moment to an empty SQLite file, while
   * it is written. Undefined for a store that other tools back up.
   */
  readonly backUp?: ((path: string) => Promise<void>) | undefined;

  /**
   * Returns the size of the store in bytes, with its indexes and what was
   * deleted and is not overwritten yet. Undefined for a store that takes no
   * space of its own.
   */
  readonly readBytes?: (() => Promise<number>) | undefined;
}
