import type { TaskEvent } from "@devtool/schema";

/** A task that was deleted. */
export interface GoneTask {
  readonly taskId: string;
  readonly contextId: string;
  readonly principal: string;
}

/**
 * Notifies of logs that grow, for servers that share a store: another server
 * may have written.
 */
export interface TaskChanges {
  /**
   * Calls `wake` after the log of a task has grown: usually at once, and within
   * two seconds if that fails. It may be called without a cause. The caller
   * must dispose of the result.
   *
   * `events` are consecutive durable events of the log, if the notification
   * carries them. Others may be missing before them, and they may come twice.
   */
  watch(
    taskId: string,
    wake: (events?: readonly TaskEvent[]) => void,
  ): Disposable;

  /**
   * Calls `wake` after the log of any task has grown, as `watch` does, and each
   * second. The caller must dispose of the result.
   */
  watchAll(wake: () => void): Disposable;

  /**
   * Calls `wake` when a server has given up its tasks (`TaskLeases.giveUp`). It
   * is a hint that can be lost. The caller must dispose of the result.
   */
  watchGivenUp(wake: () => void): Disposable;

  /**
   * Calls `wake` after a server of the store has deleted a task, this one too.
   * It is a hint that can be lost. The caller must dispose of the result.
   */
  watchDeleted(wake: (task: GoneTask) => void): Disposable;
}
