import { create } from "@bufbuild/protobuf";
import {
  type PushProgress,
  PushProgressSchema,
  type PushSubscription,
} from "@devtool/schema";
import {
  assertRoomForConfig,
  type PushConfigKey,
  type PushConfigStore,
  pushConfigKey,
} from "./push-config-store.ts";

/** Keeps push configs in memory, for the tasks of a `MemoryTaskStore`. */
export class MemoryPushConfigStore implements PushConfigStore {
  /** The subscriptions by task id, then by config id. */
  readonly #tasks = new Map<string, Map<string, PushSubscription>>();

  async put(subscription: PushSubscription): Promise<PushSubscription> {
    const { taskId, configId } = pushConfigKey(subscription);
    const configs =
      this.#tasks.get(taskId) ?? new Map<string, PushSubscription>();
    const before = configs.get(configId)?.progress;
    if (!before) assertRoomForConfig(configs.size);
    const stored = before
      ? {
          ...subscription,
          progress: create(PushProgressSchema, { cursor: before.cursor }),
        }
      : subscription;
    configs.set(configId, stored);
    this.#tasks.set(taskId, configs);
    return stored;
  }

  get({
    taskId,
    configId,
  }: PushConfigKey): Promise<PushSubscription | undefined> {
    return Promise.resolve(this.#tasks.get(taskId)?.get(configId));
  }

  list(taskId: string): Promise<readonly PushSubscription[]> {
    return Promise.resolve([...(this.#tasks.get(taskId)?.values() ?? [])]);
  }

  async *activeTasks(): AsyncIterable<string> {
    for (const [taskId, configs] of this.#tasks) {
      if (
        [...configs.values()].some(
          ({ progress }) => progress?.endedReason === "",
        )
      ) {
        yield taskId;
      }
    }
  }

  async saveProgress(
    { taskId, configId }: PushConfigKey,
    progress: PushProgress,
  ): Promise<void> {
    const configs = this.#tasks.get(taskId);
    const subscription = configs?.get(configId);
    if (subscription) configs?.set(configId, { ...subscription, progress });
  }

  /** Deletes the configs of a task. */
  deleteAll(taskId: string): void {
    this.#tasks.delete(taskId);
  }

  async delete({ taskId, configId }: PushConfigKey): Promise<void> {
    const configs = this.#tasks.get(taskId);
    configs?.delete(configId);
    if (configs?.size === 0) this.#tasks.delete(taskId);
  }
}
