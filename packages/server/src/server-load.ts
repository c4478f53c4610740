import type { TaskState } from "@devtool/schema";
import type { Backlog } from "./store/task-inbox.ts";

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
   * The events that are to be posted to webhooks that have not got them.
   * Undefined while the store cannot be read.
   */
  readonly outbox: Backlog | undefined;
  /**
   * The requests that other servers of a shared store have left for this one.
   * Undefined while the store cannot be read.
   */
  readonly inbox: Backlog | undefined;
  /**
   * What the store has, for all its servers. Undefined while it cannot be read.
   */
  readonly store: StoreLoad | undefined;
}

/** What a store has. */
export interface StoreLoad {
  /** The number of tasks in each state that is no end. */
  readonly unfinished: ReadonlyMap<TaskState, number>;
  /** The questions of tool calls that wait for a user. */
  readonly questions: Backlog;
  /** The size in bytes; undefined for a store that takes no space of its own. */
  readonly bytes: number | undefined;
}
