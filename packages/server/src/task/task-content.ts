import { defined } from "@devtool/internal/json";
import {
  emptyTask,
  LazyFold,
  type Message,
  type Task,
  type TaskEvent,
} from "@devtool/schema";
import type { TaskStore } from "../store/task-store.ts";
import { taskDeleted } from "./task-deleted.ts";
import type { LogRange, TaskHead } from "./task-head.ts";

/**
 * The content of the last messages and of the artifacts of a task, which is
 * folded again from the parts of its log that have it.
 */
export class TaskContent {
  readonly #artifacts: readonly LogRange[];
  readonly #after: bigint;
  readonly #fold: LazyFold;
  readonly #taskId: string;
  #sequence: bigint;

  /**
   * @param head the task as it is kept
   * @param messages the number of messages. Default: all
   */
  constructor(head: TaskHead, messages: number = Number.POSITIVE_INFINITY) {
    const { history } = head.task;
    let first = Math.max(0, history.length - messages);
    while (first > 0 && head.starts[first] === 0) first--;
    const start = head.starts[first];
    // Without a message, only what is appended meanwhile.
    this.#after = start === undefined ? head.sequence : BigInt(start) - 1n;
    if (first === 0) this.#after = 0n;
    this.#sequence = this.#after;
    this.#taskId = head.task.id;
    this.#artifacts = head.artifacts.filter(({ from }) => from <= this.#after);
    this.#fold = new LazyFold({
      ...emptyTask(),
      id: first === 0 ? "" : head.task.id,
      history: history.slice(0, first),
      sequence: this.#artifacts.length > 0 ? 0n : this.#after,
    });
  }

  /** Adds the next event of the log. */
  add(event: TaskEvent): void {
    if (event.sequence <= this.#sequence) return;
    this.#sequence = event.sequence;
    this.#fold.add(event);
  }

  /** The sequence up to which the log was read. */
  get sequence(): bigint {
    return this.#sequence;
  }

  /**
   * Reads the events of the log that are needed.
   *
   * @param until the sequence of the last one. Default: the end of the log
   */
  async read(store: TaskStore, until?: bigint): Promise<void> {
    for (const { from, to } of this.#artifacts) {
      let position = from - 1n;
      for await (const event of store.readEvents(this.#taskId, position)) {
        position = event.sequence;
        const isOld = position <= this.#after;
        if (isOld && event.payload.case === "artifact") this.#fold.add(event);
        if (position >= to) break;
      }
      if (position < to) throw taskDeleted(this.#taskId);
    }
    await this.readOn(store, until);
  }

  /** Reads the events that were added to the log meanwhile. */
  async readOn(store: TaskStore, until?: bigint): Promise<void> {
    if (this.#sequence === until) return;
    for await (const event of store.readEvents(this.#taskId, this.#sequence)) {
      this.add(event);
      if (event.sequence === until) return;
    }
  }

  /**
   * Returns a task with the content. Undefined if the part of the log that was
   * read gives other messages than the task has.
   */
  of(task: Task): Task | undefined {
    const { history, artifacts } = this.#fold.task;
    const idsOf = (messages: readonly Message[]): string =>
      JSON.stringify(messages.map(({ messageId, role }) => [messageId, role]));
    const isSame = this.#after === 0n || idsOf(history) === idsOf(task.history);
    return isSame ? { ...task, history, artifacts } : undefined;
  }
}

/**
 * Returns the task of a head with content that is read from its log. Rejects if
 * the log is gone.
 */
export async function readContent(
  store: TaskStore,
  head: TaskHead,
  { messages, until }: { readonly messages?: number; readonly until?: bigint },
): Promise<Task> {
  const content = new TaskContent(head, messages);
  await content.read(store, until);
  const task = content.of(head.task);
  if (task) return task;
  if (messages === undefined) throw taskDeleted(head.task.id);
  return readContent(store, head, defined({ until }));
}
