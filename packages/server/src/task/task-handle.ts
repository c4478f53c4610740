import {
  type ApprovalMode,
  type GoalState,
  isTerminal,
  type Message,
  type MessageDelivery,
  type Summary,
  type Task,
  type TaskEvent,
  TaskState,
} from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";

/** A client's message to a task that exists. */
export interface Incoming {
  readonly message: Message;
  /** Whether the request activates the development-tool extension. */
  readonly activateExtension: boolean;
  /** When a working task takes the message. Default: when the turn ends. */
  readonly delivery?: MessageDelivery | undefined;
  /** The name that the client gives itself. Default: none. */
  readonly clientLabel?: string | undefined;
  /**
   * The approval mode of the session once the agent takes the message. Default:
   * as it is.
   */
  readonly approvalMode?: ApprovalMode | undefined;
  /**
   * The entry of the inbox with which another server passed the message on.
   * Default: it came to this server.
   */
  readonly entry?: bigint | undefined;
}

/**
 * A task as requests see it, whether this server writes its log or another one
 * does.
 */
export interface TaskHandle {
  /**
   * The task as it is known here now. Once its history has megabytes, old
   * messages there have no content (see `LazyFold.dropContent`).
   */
  readonly task: Task;

  /**
   * Returns the task with its content, which is read from the store when it is
   * not in memory, once all of it is durable: what a client has seen, no crash
   * takes back. Rejects when the store fails.
   *
   * @param messages how many of the last messages must have their content.
   * Default: all
   */
  whole(messages?: number): Promise<Task>;

  /**
   * Whether the conversation has activated the development-tool extension. The
   * last event of this task may be older.
   */
  readonly extensionActive: boolean;

  /**
   * Yields the durable events after a sequence, then further ones when they
   * become durable: each time those that are ready, at least one. Does not end
   * by itself: the caller leaves the loop or aborts. Throws the signal's reason
   * when the signal aborts.
   */
  read(after: bigint, signal: AbortSignal): AsyncIterable<readonly TaskEvent[]>;

  /**
   * Takes a client's message: an answer to open questions, or a prompt, which
   * is queued while the task is working. Resolves with the sequence of the
   * message's event when it is durable.
   *
   * Throws a `DevtoolError` when the task cannot take the message. Nothing has
   * changed then.
   */
  accept(incoming: Incoming): Promise<bigint>;

  /**
   * Activates the extension in the conversation, with an event of its own
   * because no message records it.
   */
  activateExtension(): Promise<void>;

  /**
   * Removes a queued message. Throws a `DevtoolError` when no queued message
   * has this id; nothing has changed then.
   */
  withdraw(messageId: string): Promise<void>;

  /**
   * Gives the task another title, also if it has ended. Resolves when that is
   * durable. Does nothing if the task has this title.
   *
   * @param clientLabel what the client calls itself; empty for nothing
   */
  setTitle(title: string, clientLabel: string): Promise<void>;

  /**
   * Pauses the goal of the task, or has the task go on with it. Resolves when
   * that is durable. Does nothing if its state is this one. Throws
   * `Code.FailedPrecondition` when there is none that goes on.
   */
  setGoalState(state: GoalState.ACTIVE | GoalState.PAUSED): Promise<void>;

  /**
   * Cancels the task: aborts the agent, and marks open calls as CANCELLED.
   * Resolves when that is durable. Throws `Code.FailedPrecondition` when the
   * task has already ended.
   */
  cancel(): Promise<void>;

  /** Records a notice for the readers of the task. */
  addNotice(text: string): Promise<void>;

  /**
   * Replaces the older history of a task with a summary, as
   * `AgentConversations.summarize` describes it.
   *
   * @param make receives the task; its history begins with that of the tasks
   * which it continues
   */
  summarize(
    make: (task: Task) => Promise<Summary | undefined>,
  ): Promise<Summary | undefined>;
}

/**
 * Throws `Code.FailedPrecondition` for a task that has ended and cannot be
 * canceled.
 */
export function assertNotEnded({ id, state }: Task): void {
  if (!isTerminal(state)) return;
  throw new DevtoolError(
    `task ${JSON.stringify(id)} is already ${TaskState[state].toLowerCase()}: it cannot be canceled`,
    Code.FailedPrecondition,
    { details: { field: "task_id", value: id } },
  );
}

/**
 * An open task that is not closed before its holder disposes of this object.
 * Without it, it could be closed for the sake of another one before its finder
 * uses it.
 */
export class HeldTask<Handle extends TaskHandle = TaskHandle>
  implements Disposable
{
  readonly handle: Handle;
  readonly #task: { holders: number };
  #isHeld = true;

  /** @param task counts the holders of its handle */
  constructor(handle: Handle, task: { holders: number }) {
    this.handle = handle;
    this.#task = task;
    task.holders++;
  }

  /** Holds the task once more, for a caller that needs it longer. */
  hold(): HeldTask<Handle> {
    return new HeldTask(this.handle, this.#task);
  }

  [Symbol.dispose](): void {
    if (this.#isHeld) this.#task.holders--;
    this.#isHeld = false;
  }
}
