import { create } from "@bufbuild/protobuf";
import { InboxRequestSchema } from "@devtool/schema";
import { askOwner } from "../fleet/ask-owner.ts";
import type { OpenTasks, TaskCompanion } from "../fleet/open-tasks.ts";
import type { PushNotifier } from "../push/push-notifier.ts";
import type { PushConfigKey } from "../store/push-config-store.ts";
import type { SharedTasks } from "../store/task-store.ts";
import type { OpenTask } from "../task/open-task.ts";

interface TaskPushOptions {
  readonly notifier: PushNotifier;
  readonly registry: OpenTasks;
  readonly shared: SharedTasks;
  /**
   * The fences under which this server has tasks, by their ids. The notifier
   * posts for these.
   */
  readonly fences: Map<string, bigint>;
  readonly onError: (reason: unknown) => void;
}

/**
 * Has the events of each task posted by the server that runs it, where several
 * share a store.
 *
 * A task is posted for from when this server has opened it until it loses the
 * lease, and stays open while something is left to post.
 */
export class TaskPush implements TaskCompanion, Pick<PushNotifier, "changed"> {
  readonly #options: TaskPushOptions;

  constructor(options: TaskPushOptions) {
    this.#options = options;
  }

  opened(openTask: OpenTask): void {
    this.#own(openTask);
    const { notifier, onError } = this.#options;
    notifier.resume(openTask.task.id).catch(onError);
  }

  isBusy(taskId: string): boolean {
    return this.#options.notifier.isBusy(taskId);
  }

  closing(taskId: string): void {
    const { fences, notifier, onError } = this.#options;
    fences.delete(taskId);
    notifier.abandon(taskId).catch(onError);
  }

  /**
   * Applies a config that was stored, replaced or deleted, at the server that
   * runs the task.
   */
  async changed({ taskId, configId }: PushConfigKey): Promise<void> {
    const { registry, shared } = this.#options;
    using own = await registry.own(taskId);
    if (own) return this.take(own.handle, configId);
    await askOwner(
      shared,
      taskId,
      create(InboxRequestSchema, {
        request: { case: "pushConfig", value: configId },
      }),
    );
  }

  /** Applies a config of a task that this server runs. */
  async take(openTask: OpenTask, configId: string): Promise<void> {
    this.#own(openTask);
    await this.#options.notifier.changed({
      taskId: openTask.task.id,
      configId,
    });
  }

  #own({ task: { id }, fence, log }: OpenTask): void {
    const { fences } = this.#options;
    if (fences.get(id) === fence) return;
    fences.set(id, fence);
    const lose = (): void => {
      if (fences.get(id) === fence) this.closing(id);
    };
    log.failed.addEventListener("abort", lose, { once: true });
    // A signal that has aborted already calls no listener.
    if (log.failed.aborted) lose();
  }
}
