import { setTimeout as delay } from "node:timers/promises";
import { failpoint } from "@devtool/internal/failpoint";
import type { GoneTask } from "../store/task-changes.ts";
import type { ListedTask } from "../store/task-store.ts";
import { Bell } from "../stream/bell.ts";

/**
 * The time in milliseconds that a watch waits after it has shown all changes.
 * An agent that streams text changes its task hundreds of times a second, and a
 * list shows none of that.
 */
const PAUSE_MS = 100;

/** Takes the changes of tasks. */
export interface FeedSink {
  /** Takes a task whose last event is durable. */
  put(task: ListedTask): void;
  /** Takes that a task was deleted. */
  putDeleted(task: GoneTask): void;
}

/**
 * Passes the durable events of all open tasks to those who watch the tasks of a
 * principal or of all, and the ids of these tasks to an observer.
 */
export class TaskFeed {
  /** By principal; undefined for those who watch the tasks of all. */
  readonly #watches = new Map<string | undefined, Set<FeedSink>>();
  #onAppended: (taskId: string) => void = () => undefined;
  #onDeleted: (taskId: string) => void = () => undefined;

  /**
   * Sets the observer, which gets the task's id after each durable append, and
   * when the task is deleted. Replaces the previous one.
   */
  observe(
    onAppended: (taskId: string) => void,
    onDeleted: (taskId: string) => void,
  ): void {
    this.#onAppended = onAppended;
    this.#onDeleted = onDeleted;
  }

  /** Passes on that a task was deleted. */
  noteDeleted(task: GoneTask): void {
    this.#onDeleted(task.taskId);
    for (const watch of this.#of(task)) watch.putDeleted(task);
  }

  /** Tells the observer that a task has new durable events. */
  wake(taskId: string): void {
    failpoint("devtool:push.wake.before");
    this.#onAppended(taskId);
    failpoint("devtool:push.wake.after");
  }

  /**
   * Starts to collect the changes of a principal's tasks, or of all tasks, until
   * the watch is disposed of.
   */
  watch(principal: string | undefined): TaskWatch {
    const watch: TaskWatch = new TaskWatch(() => passing[Symbol.dispose]());
    const passing = this.pass(principal, watch);
    return watch;
  }

  /**
   * Passes the changes of a principal's tasks, or of all tasks, to a sink until
   * the result is disposed of.
   */
  pass(principal: string | undefined, sink: FeedSink): Disposable {
    const sinks = this.#watches.get(principal) ?? new Set();
    this.#watches.set(principal, sinks.add(sink));
    return {
      [Symbol.dispose]: () => {
        sinks.delete(sink);
        if (sinks.size === 0 && this.#watches.get(principal) === sinks) {
          this.#watches.delete(principal);
        }
      },
    };
  }

  /**
   * Whether anybody watches. Without, a log need not know whose task it has.
   */
  get isWatched(): boolean {
    return this.#watches.size > 0;
  }

  /** Passes on a task whose last event is durable. */
  note(task: ListedTask): void {
    for (const watch of this.#of(task)) watch.put(task);
  }

  /** Returns the watches that a task concerns. */
  #of({ principal }: { readonly principal: string }): FeedSink[] {
    return [principal, undefined].flatMap((key) => [
      ...(this.#watches.get(key) ?? []),
    ]);
  }
}

/**
 * The changes of watched tasks that were not read yet: of each task the
 * newest event, so that a slow reader keeps at most one event for each task in
 * memory.
 */
export class TaskWatch implements FeedSink, Disposable {
  readonly #newest = new Map<string, ListedTask | GoneTask>();
  readonly #onClose: () => void;
  #bell: Bell | undefined;

  constructor(onClose: () => void) {
    this.#onClose = onClose;
  }

  /** Adds a task, unless a newer change of it is there. */
  put(task: ListedTask): void {
    const newest = this.#newest.get(task.last.taskId);
    if (newest && !("last" in newest)) return;
    if (newest && newest.last.sequence > task.last.sequence) return;
    this.#newest.set(task.last.taskId, task);
    this.#bell?.ring();
  }

  /** Adds that a task was deleted, in place of its changes. */
  putDeleted(task: GoneTask): void {
    this.#newest.set(task.taskId, task);
    this.#bell?.ring();
  }

  /**
   * Yields the changes, each task with its newest event, and deleted tasks,
   * until the signal aborts.
   */
  async *read(signal: AbortSignal): AsyncIterable<ListedTask | GoneTask> {
    const bell = new Bell(signal);
    this.#bell = bell;
    while (!signal.aborted) {
      bell.reset();
      for (const [taskId, task] of this.#newest) {
        this.#newest.delete(taskId);
        yield task;
        signal.throwIfAborted();
      }
      await delay(PAUSE_MS, undefined, { signal });
      await bell.rung;
    }
  }

  [Symbol.dispose](): void {
    this.#onClose();
  }
}
