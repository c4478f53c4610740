/** How much a server has to do at a moment. */
export interface ServerLoad {
  /** The number of tasks that are open, in memory. */
  readonly openTasks: number;
  /**
   * How many idle tasks were closed since the start because many were open. They
   * are opened again when they are needed.
   */
  readonly evictedTasks: number;
  /** The number of messages that wait for the turn of their task to end. */
  readonly waitingMessages: number;
  /**
   * The number of tasks with requests that other servers of a shared store have
   * left for this one.
   */
  readonly inboxTasks: number;
  /** The number of webhooks for which events are posted, or wait to be. */
  readonly busyWebhooks: number;
}
