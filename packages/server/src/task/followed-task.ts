import { reduceTask, type Summary, type Task, type TaskEvent } from "@devtool/schema";
import { Code, DevtoolError, quoted } from "../errors.ts";
import type { TaskChanges } from "../store/task-changes.ts";
import type { TaskStore } from "../store/task-store.ts";
import type { TaskHandle } from "./task-handle.ts";

/** Dependencies of `FollowedTask`. */
export interface FollowedTaskOptions {
  readonly store: TaskStore;
  readonly changes: TaskChanges;
  /** The task as the store has it. */
  readonly task: Task;
}

/** A task that another server runs. It is read from the store, and cannot be changed here. */
export class FollowedTask implements TaskHandle {
  readonly #store: TaskStore;
  readonly #changes: TaskChanges;
  #task: Task;

  constructor({ store, changes, task }: FollowedTaskOptions) {
    this.#store = store;
    this.#changes = changes;
    this.#task = task;
  }

  get task(): Task {
    return this.#task;
  }

  get extensionActive(): boolean {
    return this.#task.extensionActive;
  }

  async *read(after: bigint, signal: AbortSignal): AsyncIterable<TaskEvent> {
    const bell = new Bell(signal);
    using _watch = this.#changes.watch(this.#task.id, () => bell.ring());
    let position = after;
    for (;;) {
      signal.throwIfAborted();
      bell.reset();
      for await (const event of this.#store.readEvents(this.#task.id, position)) {
        signal.throwIfAborted();
        position = event.sequence;
        if (event.sequence === this.#task.sequence + 1n) this.#task = reduceTask(this.#task, event);
        yield event;
      }
      await bell.rung;
    }
  }

  accept(): Promise<bigint> {
    return Promise.reject(this.#elsewhere());
  }

  activateExtension(): Promise<void> {
    return this.extensionActive ? Promise.resolve() : Promise.reject(this.#elsewhere());
  }

  withdraw(): Promise<void> {
    return Promise.reject(this.#elsewhere());
  }

  cancel(): Promise<void> {
    return Promise.reject(this.#elsewhere());
  }

  addNotice(): Promise<void> {
    return Promise.reject(this.#elsewhere());
  }

  summarize(): Promise<Summary | undefined> {
    return Promise.reject(this.#elsewhere());
  }

  #elsewhere(): DevtoolError {
    return new DevtoolError(`task ${quoted(this.#task.id)} is run by another server`, Code.Unavailable, {
      remedy: "send the request to that server, or again when it has stopped",
    });
  }
}

/** Wakes a reader that waits, also when it was rung before the reader waited. Abortion rings it as well. */
class Bell {
  #ring = Promise.withResolvers<void>();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener("abort", () => this.ring(), { once: true });
  }

  /** Resolves when the bell is rung after the last reset. */
  get rung(): Promise<void> {
    return this.#ring.promise;
  }

  ring(): void {
    this.#ring.resolve();
  }

  reset(): void {
    if (!this.#signal.aborted) this.#ring = Promise.withResolvers<void>();
  }
}
