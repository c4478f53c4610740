import type { PushProgress, PushSubscription } from "@devtool/schema";
import { invalid } from "../errors.ts";

/** The maximum number of push configs of a task. */
export const MAX_PUSH_CONFIGS = 10;

/** Identifies a push config. */
export interface PushConfigKey {
  readonly taskId: string;
  readonly configId: string;
}

/**
 * Stores the push configs of tasks, and how far each of them has been
 * delivered.
 *
 * Together with the tasks' logs this is an outbox: after a crash, delivery
 * continues where it was. All implementations pass `testPushConfigStore` of
 * `@devtool/server/testing/contracts`.
 */
export interface PushConfigStore {
  /**
   * Stores a config with its progress, or replaces the config with the same id,
   * and returns what is stored.
   *
   * A replaced config keeps its place in the list and its cursor, so that
   * events which were not delivered go to the new one. Rejects with
   * `Code.InvalidArgument` when the task has `MAX_PUSH_CONFIGS` others.
   */
  put(subscription: PushSubscription): Promise<PushSubscription>;

  /** Reads a config. Undefined when there is none. */
  get(key: PushConfigKey): Promise<PushSubscription | undefined>;

  /**
   * Lists the configs of a task, in the order in which they were first stored.
   */
  list(taskId: string): Promise<readonly PushSubscription[]>;

  /** Lists the ids of the tasks with a config that has not ended. */
  activeTasks(): AsyncIterable<string>;

  /**
   * Stores how far a config has been delivered, durably. Does nothing when the
   * config was deleted. The cursor of a config does not go back.
   *
   * @param fence the fence of the lease under which this server has the task. A
   * store that servers share does nothing when another one has acquired the
   * task since. Default: 0, the fence of a task that was never acquired
   */
  saveProgress(
    key: PushConfigKey,
    progress: PushProgress,
    fence?: bigint,
  ): Promise<void>;

  /** Deletes a config. Does nothing when there is none. */
  delete(key: PushConfigKey): Promise<void>;
}

/** Returns the key of a subscription. */
export function pushConfigKey({ config }: PushSubscription): PushConfigKey {
  return { taskId: config?.taskId ?? "", configId: config?.id ?? "" };
}

/**
 * Throws `Code.InvalidArgument` where a task with this number of configs can
 * have no other.
 */
export function assertRoomForConfig(count: number): void {
  if (count < MAX_PUSH_CONFIGS) return;
  const problem = `cannot be added: a task has at most ${MAX_PUSH_CONFIGS} configs`;
  throw invalid("config", "", problem, "delete one that is not needed");
}
