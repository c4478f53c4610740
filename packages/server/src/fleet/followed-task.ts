import { create } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import {
  CancelTaskRequestSchema,
  type GoalState,
  type InboxRequest,
  InboxRequestSchema,
  RenameTaskRequestSchema,
  SendMessageRequestSchema,
  SetGoalStateRequestSchema,
  type Summary,
  type Task,
  type TaskEvent,
  WithdrawMessageRequestSchema,
} from "@devtool/schema";
import { Code, DevtoolError, quoted } from "../errors.ts";
import type { SharedTasks, TaskStore } from "../store/task-store.ts";
import { Bell } from "../stream/bell.ts";
import { readTask } from "../task/read-task.ts";
import { TaskContent } from "../task/task-content.ts";
import { taskDeleted } from "../task/task-deleted.ts";
import {
  assertNotEnded,
  type Incoming,
  type TaskHandle,
} from "../task/task-handle.ts";
import type { TaskHead } from "../task/task-head.ts";
import { askOwner } from "./ask-owner.ts";
import { LogNews } from "./log-news.ts";

interface FollowedTaskOptions {
  readonly store: TaskStore;
  readonly shared: SharedTasks;
  /** The task as the store has it. */
  readonly head: TaskHead;
  /**
   * Why this server cannot run the task when no other does; undefined when it
   * can.
   */
  readonly unreachable?: DevtoolError | undefined;
}

/**
 * A task that another server runs. It is read from the store, and changes are
 * requested from that server.
 */
export class FollowedTask implements TaskHandle {
  readonly #store: TaskStore;
  readonly #shared: SharedTasks;
  readonly #unreachable: DevtoolError | undefined;
  readonly #head: TaskHead;

  constructor({ store, shared, head, unreachable }: FollowedTaskOptions) {
    this.#store = store;
    this.#shared = shared;
    this.#unreachable = unreachable;
    this.#head = head;
  }

  get task(): Task {
    return this.#head.task;
  }

  async whole(messages?: number): Promise<Task> {
    if (this.#head.hasContent(messages)) return this.task;
    const { id } = this.task;
    const content = new TaskContent(this.#head, messages);
    await content.read(this.#store);
    while (content.sequence !== this.#head.sequence) {
      await this.#readUntil(content.sequence);
      await content.readOn(this.#store);
    }
    await this.#assertThere(content.sequence);
    const found = content.of(this.task) ?? (await readTask(this.#store, id));
    if (!found) throw taskDeleted(id);
    return found;
  }

  get extensionActive(): boolean {
    return this.task.extensionActive;
  }

  async *read(
    after: bigint,
    signal: AbortSignal,
  ): AsyncIterable<readonly TaskEvent[]> {
    const bell = new Bell(signal);
    const news = new LogNews();
    using _watch = this.#shared.changes.watch(this.task.id, (events) => {
      news.put(events);
      bell.ring();
    });
    await this.#readUntil(after);
    let position = after;
    for (;;) {
      signal.throwIfAborted();
      bell.reset();
      const events =
        news.take(position) ?? this.#store.readEvents(this.task.id, position);
      const before = position;
      for await (const event of events) {
        signal.throwIfAborted();
        position = event.sequence;
        this.#add(event);
        yield [event];
      }
      // Woken without news, as when the task was deleted.
      if (position === before) await this.#assertThere(position);
      await bell.rung;
    }
  }

  accept({
    message,
    delivery,
    activateExtension,
    clientLabel,
    approvalMode,
  }: Incoming): Promise<bigint> {
    const messageSettings = defined({ delivery, clientLabel });
    const sessionSettings = defined({ approvalMode });
    const value = create(SendMessageRequestSchema, {
      message,
      activateExtension,
      messageSettings,
      sessionSettings,
    });
    return this.#ask({ case: "message", value });
  }

  async activateExtension(): Promise<void> {
    if (!this.extensionActive) {
      await this.#ask({ case: "activateExtension", value: true });
    }
  }

  async withdraw(messageId: string): Promise<void> {
    await this.#ask({
      case: "withdraw",
      value: create(WithdrawMessageRequestSchema, { messageId }),
    });
  }

  async cancel(): Promise<void> {
    await this.#readUntil();
    assertNotEnded(this.task);
    await this.#ask({ case: "cancel", value: create(CancelTaskRequestSchema) });
  }

  async setTitle(title: string, clientLabel: string): Promise<void> {
    await this.#ask({
      case: "rename",
      value: create(RenameTaskRequestSchema, { title, clientLabel }),
    });
  }

  async setGoalState(
    state: GoalState.ACTIVE | GoalState.PAUSED,
  ): Promise<void> {
    await this.#ask({
      case: "goalState",
      value: create(SetGoalStateRequestSchema, { state }),
    });
  }

  async addNotice(text: string): Promise<void> {
    await this.#ask({ case: "notice", value: text });
  }

  summarize(): Promise<Summary | undefined> {
    const problem = `task ${quoted(this.task.id)} is run by another server`;
    const remedy =
      "send the request to that server, or again when it has stopped";
    return Promise.reject(
      new DevtoolError(problem, Code.Unavailable, { remedy }),
    );
  }

  /**
   * Requests a change, and returns the sequence of the event that records it,
   * when the task has it.
   */
  async #ask(request: InboxRequest["request"]): Promise<bigint> {
    const sequence = await askOwner(
      this.#shared,
      this.task.id,
      create(InboxRequestSchema, { request }),
      this.#unreachable,
    );
    await this.#readUntil(sequence);
    return sequence;
  }

  /**
   * Folds the events of the log into the task, up to a sequence. Default: all
   * that the log has.
   */
  async #readUntil(sequence?: bigint): Promise<void> {
    if (sequence !== undefined && sequence <= this.#head.sequence) return;
    for await (const event of this.#store.readEvents(
      this.task.id,
      this.#head.sequence,
    )) {
      this.#add(event);
      if (event.sequence === sequence) return;
    }
  }

  /** Rejects if the event at a sequence is gone, and so is the task. */
  async #assertThere(sequence: bigint): Promise<void> {
    if (sequence === 0n) return;
    const { id } = this.task;
    for await (const _last of this.#store.readEvents(id, sequence - 1n)) return;
    throw taskDeleted(id);
  }

  #add(event: TaskEvent): void {
    if (event.sequence === this.#head.sequence + 1n) this.#head.add(event);
  }
}
