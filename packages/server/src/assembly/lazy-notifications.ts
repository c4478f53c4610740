import type { PushConfigStore } from "../store/push-config-store.ts";
import type { Notifications } from "./notifications.ts";

/** Notifications that are opened when there is somebody to notify: a server whose clients stay pays nothing for them. */
export class LazyNotifications implements AsyncDisposable {
  readonly #configs: PushConfigStore;
  readonly #open: () => Promise<Notifications>;
  #opening: Promise<Notifications> | undefined;
  #opened: Notifications | undefined;

  constructor(configs: PushConfigStore, open: () => Promise<Notifications>) {
    this.#configs = configs;
    this.#open = open;
  }

  /** Goes on with what an earlier run of the server left, when it left something. */
  async start(): Promise<void> {
    for await (const _taskId of this.#configs.activeTasks()) return (await this.get()).notifier.start();
  }

  /** The notifications, opened when they are not. */
  get(): Promise<Notifications> {
    this.#opening ??= this.#open().then((opened) => {
      this.#opened = opened;
      return opened;
    });
    return this.#opening;
  }

  /** Tells of new events of a task, which are durable. Until the first config is stored, nobody is to be told. */
  wake(taskId: string): void {
    this.#opened?.notifier.wake(taskId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#opening)?.notifier[Symbol.asyncDispose]();
  }
}
