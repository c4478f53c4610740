import type { PushConfig } from "@devtool/schema";

/** Keeps push notification configs. All implementations pass `push-config-store.contract.ts`. */
export interface PushConfigStore {
  /** Stores a config, or replaces the one with its task and id; both are set. Durable when the promise resolves. */
  set(config: PushConfig): Promise<void>;

  /** Gets a config by id; undefined when there is none. */
  get(taskId: string, id: string): Promise<PushConfig | undefined>;

  /** Lists the configs of a task in the order they were first stored. */
  list(taskId: string): Promise<readonly PushConfig[]>;

  /** Deletes a config; deleting one that is gone is no error. */
  delete(taskId: string, id: string): Promise<void>;
}
