import type { PushProgress, PushSubscription } from "@devtool/schema";
import { invalid } from "../errors.ts";

/** A task has at most so many push configs. */
export const MAX_PUSH_CONFIGS = 10;

/** Names a push config. */
export interface PushConfigKey {
  readonly taskId: string;
  readonly configId: string;
}

/**
 * Keeps the push configs of tasks, and how far the delivery to each has come: with the tasks' logs, an outbox that a
 * crash leaves whole. All implementations pass `push-config-store.contract.ts`.
 */
export interface PushConfigStore {
  /**
   * Stores a config, or replaces the one with its id, which stays where it was in the list and keeps its cursor: what was
   * not delivered goes to the new one. Gives what is stored. Rejects with `Code.InvalidArgument` past `MAX_PUSH_CONFIGS`.
   */
  put(subscription: PushSubscription): Promise<PushSubscription>;

  /** Gets a config; undefined when there is none. */
  get(key: PushConfigKey): Promise<PushSubscription | undefined>;

  /** Lists the configs of a task, in the order in which they were first stored. */
  list(taskId: string): Promise<readonly PushSubscription[]>;

  /** Lists the tasks with a config that still posts. */
  activeTasks(): AsyncIterable<string>;

  /** Notes how far delivery has come; does nothing when the config is gone. Durable when it resolves. */
  saveProgress(key: PushConfigKey, progress: PushProgress): Promise<void>;

  /** Deletes a config; one that is gone is no error. */
  delete(key: PushConfigKey): Promise<void>;
}

/** The key of a subscription. */
export function keyOf({ config }: PushSubscription): PushConfigKey {
  return { taskId: config?.taskId ?? "", configId: config?.id ?? "" };
}

/** The error for one config too many. */
export function tooManyConfigs(): Error {
  return invalid(
    "config",
    "",
    `is one too many, a task has at most ${MAX_PUSH_CONFIGS}`,
    "delete one that is not needed",
  );
}
