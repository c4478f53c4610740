/**
 * The right to write one task, until it is released or lost.
 *
 * A lease is lost when its server does not renew it in time, for instance
 * because the process was stopped or its network failed. Another server may
 * have the task then. The store refuses appends with the old fence.
 */
export interface TaskLease {
  /**
   * The number of acquisitions of the task so far. Each append carries it, so
   * that a store can refuse earlier holders.
   */
  readonly fence: bigint;

  /**
   * Aborted when the lease is lost. The holder must end what it does for the
   * task.
   */
  readonly lost: AbortSignal;

  /**
   * Whether this server, and probably the one that had the task before, has
   * lost its leases because the store could not be reached, and has just got
   * them again.
   */
  readonly afterOutage: boolean;

  /**
   * Returns whether this server still holds the task. An append checks it by
   * itself.
   */
  isCurrent(): Promise<boolean>;

  /**
   * Gives the task up, so that any server can acquire it at once. Does nothing
   * when the lease is lost.
   */
  release(): Promise<void>;
}

/**
 * Grants leases of tasks to the servers that share a store, so that each task
 * has one writer among them all.
 */
export interface TaskLeases {
  /**
   * Returns the lease of a task that does not exist yet. It takes effect with
   * the task's first event.
   */
  create(taskId: string): Promise<TaskLease>;

  /**
   * Acquires the lease of a task. Undefined while another server has it, and
   * for an unknown task.
   */
  acquire(taskId: string): Promise<TaskLease | undefined>;

  /**
   * Lists work that was left behind, first what was running: tasks that have
   * not ended and whose last holder lost its lease before it released them, and
   * tasks without a holder that are submitted or working, have requests in
   * their inbox, or events that are not posted to their push configs.
   *
   * @param unreachable the real paths of workspaces whose tasks are left out,
   * because this server cannot work there. Default: none
   * @param failed the ids of tasks that are left out, because this server knows
   * them and could not open them. Default: none
   */
  orphaned(
    unreachable?: readonly string[],
    failed?: readonly string[],
  ): Promise<readonly string[]>;

  /**
   * Tells the other servers what decides here how far tasks go without asking.
   * Returns whether another server that runs now has told something else.
   *
   * @param basis a digest, not empty
   */
  announce(basis: string): Promise<boolean>;

  /**
   * Gives up all leases for good, because this server ends, and tells the other
   * servers (`TaskChanges.watchGivenUp`), which can acquire the tasks at once.
   * Never rejects: what fails ends with the leases.
   */
  giveUp(): Promise<void>;
}
