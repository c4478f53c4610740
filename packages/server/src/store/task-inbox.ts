import type { InboxRefusal, InboxRequest } from "@devtool/schema";

/**
 * A request for a task that one server put into the store, and that the server
 * which runs the task takes.
 */
export interface InboxEntry {
  /** The number of the entry. Entries of a task are taken in this order. */
  readonly id: bigint;
  readonly request: InboxRequest;
}

/**
 * The answer to an entry that an append gives: the append and the answer are
 * committed together.
 */
export interface InboxAnswer {
  /** The number of the entry. */
  readonly entry: bigint;
  /** The sequence of the event that the request caused. */
  readonly sequence: bigint;
}

/**
 * The outcome of a request: it caused the event with that sequence, or was
 * refused and caused none.
 */
export type InboxReply =
  | { readonly case: "taken"; readonly sequence: bigint }
  | { readonly case: "refused"; readonly refusal: InboxRefusal };

/** What waits in a queue. */
export interface Backlog {
  readonly count: number;
  /** How long the oldest has waited, in milliseconds; 0 for none. */
  readonly oldestMs: number;
}

/**
 * Requests for tasks that other servers run. Each is answered once, by the
 * server that holds the lease of its task.
 */
export interface TaskInbox {
  /**
   * Adds a request for a task, durably, and returns the number of its entry.
   * Its reply is found under this number.
   */
  put(taskId: string, request: InboxRequest): Promise<bigint>;

  /**
   * Returns the reply to an entry, and removes the entry then. Undefined when
   * there is none yet.
   */
  takeReply(entry: bigint): Promise<InboxReply | undefined>;

  /** Lists the tasks of this server that have entries without a reply. */
  waiting(): Promise<readonly string[]>;

  /** Returns how many entries of such tasks have no reply. */
  backlog(): Promise<Backlog>;

  /**
   * Returns the oldest entry of a task that has no reply. Undefined when there
   * is none.
   */
  next(taskId: string): Promise<InboxEntry | undefined>;

  /**
   * Replies to an entry whose request caused no event. Returns false when that
   * was not possible, because another server has acquired the task or the entry
   * has a reply.
   *
   * @param fence the fence of the lease under which this server has the task
   */
  reply(
    taskId: string,
    entry: bigint,
    fence: bigint,
    reply: InboxReply,
  ): Promise<boolean>;

  /**
   * Calls `wake` after a server has put an entry: usually at once, and within
   * two seconds if that fails. It may be called without a cause. The caller
   * must dispose of the result.
   */
  watch(wake: () => void): Disposable;
}
