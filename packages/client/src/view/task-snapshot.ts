import { equals } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import {
  emptyTask,
  LazyFold,
  type Message,
  type Notice,
  type Task,
  type TaskEvent,
  ToolCallSchema,
} from "@devtool/schema";
import { type AskedToolCall, pendingToolCalls } from "../confirmation.ts";
import { type PlanStep, planOf, reducePlan } from "./plan.ts";
import { type TaskItem, TaskItems } from "./task-items.ts";

/**
 * What a view shows at one moment. It is never changed, and neither is anything
 * in it.
 */
export interface TaskSnapshot {
  /**
   * The task: its state, usage, settings, queued messages and artifacts. It has
   * no id before the first message was accepted.
   */
  readonly task: Task;
  /**
   * What the user and the agent said and did, in order. Items that have not
   * changed are the same objects as in the snapshot before.
   */
  readonly items: readonly TaskItem[];
  /**
   * The tool calls that wait for the user's answer. A call that still asks the
   * same is the same object as in the snapshot before.
   */
  readonly questions: readonly AskedToolCall[];
  /**
   * The latest plan of the agent. Empty if it has none.
   */
  readonly plan: readonly PlanStep[];
  /**
   * The latest notice about the work, such as a retried request, until
   * something else happens.
   */
  readonly notice: Notice | undefined;
  /**
   * The messages that were given to `send` or `answer` and are not in the task
   * yet.
   */
  readonly unsent: readonly Message[];
  /**
   * Why the connection was lost, while the view tries to restore it; otherwise
   * undefined.
   */
  readonly lost: ConnectError | undefined;
  /**
   * Why reading ended early: an error that a retry cannot fix, such as
   * `Code.NotFound`. Undefined while the view reads.
   */
  readonly error: ConnectError | undefined;
}

/**
 * Folds the events of a task, and what its view knows beside them, into
 * snapshots.
 */
export class SnapshotFold {
  readonly #onChange: () => void;
  readonly #items = new TaskItems();
  #questions: readonly AskedToolCall[] = [];
  #fold = new LazyFold(emptyTask());
  /**
   * The id of the task. Empty before the first event.
   */
  #taskId = "";
  /**
   * The items of the tasks that this one continues: in A2A 1.0, another task
   * continues an ended one.
   */
  #earlier: readonly TaskItem[] = [];
  #plan: readonly PlanStep[] = [];
  #notice: Notice | undefined;
  #unsent: readonly Message[] = [];
  #lost: ConnectError | undefined;
  #error: ConnectError | undefined;

  /**
   * @param onChange called after each change of what `take` returns
   */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /**
   * The task as of the last event, which may be newer than the last snapshot.
   */
  get task(): Task {
    return this.#fold.task;
  }

  /**
   * Begins with the task as it is now. Ignores a task that is not newer.
   */
  start(task: Task): void {
    if (task.sequence <= this.#fold.sequence) return;
    this.#fold = new LazyFold(task);
    this.#taskId = task.id;
    this.#plan = planOf(task);
    this.#onChange();
  }

  /**
   * Folds the next event, or the last one again, of which the task does not
   * have all that is shown. Ignores events before it.
   */
  add(event: TaskEvent): void {
    const isOther = this.#taskId !== "" && this.#taskId !== event.taskId;
    if (isOther) {
      this.#earlier = [...this.#earlier, ...this.#items.list(this.task)];
      this.#fold = new LazyFold(emptyTask());
    } else if (event.sequence < this.#fold.sequence) {
      return;
    }
    this.#taskId = event.taskId;
    if (event.sequence > this.#fold.sequence) this.#fold.add(event);
    this.#plan = reducePlan(this.#plan, event);
    this.#notice =
      event.payload.case === "notice" ? event.payload.value : undefined;
    const recorded = recordedMessage(event)?.messageId;
    this.#setUnsent(
      this.#unsent.filter(({ messageId }) => messageId !== recorded),
    );
    this.#onChange();
  }

  /**
   * Folds a message that the protocol does not show: A2A 0.3 shows the first
   * message of a task only.
   */
  addMessage(message: Message, next: TaskEvent): void {
    if (
      this.task.history.some(({ messageId }) => messageId === message.messageId)
    ) {
      return;
    }
    if (next.sequence <= this.#fold.sequence) return;
    const event = {
      ...next,
      payload: { case: "message", value: message },
    } as const;
    this.add(event);
    this.#fold = new LazyFold({ ...this.task, sequence: next.sequence - 1n });
  }

  /**
   * Takes the title from the answer to a request, unless the task is newer than
   * the answer: the event comes later, and not before the next message if the
   * task has ended.
   */
  setTitle({ sequence, title }: Pick<Task, "sequence" | "title">): void {
    if (sequence >= this.#fold.sequence) {
      this.#fold = new LazyFold({ ...this.task, title });
    }
    this.#onChange();
  }

  setLost(error: ConnectError | undefined): void {
    if (this.#lost === error) return;
    this.#lost = error;
    this.#onChange();
  }

  setError(error: ConnectError | undefined): void {
    if (this.#error === error) return;
    this.#error = error;
    this.#onChange();
  }

  addUnsent(message: Message): void {
    this.#setUnsent([...this.#unsent, message]);
  }

  /**
   * Removes a message that was sent, or will not be. A message that the log has
   * is removed by its event.
   */
  removeUnsent(message: Message): void {
    this.#setUnsent(this.#unsent.filter((other) => other !== message));
  }

  /**
   * Returns what the view shows now.
   */
  take(): TaskSnapshot {
    const before = this.#questions;
    const { task } = this;
    this.#questions = pendingToolCalls(task).map(
      (call) => before.find((other) => isSame(call, other)) ?? call,
    );
    return {
      task,
      items: [...this.#earlier, ...this.#items.list(task)],
      questions: this.#questions,
      plan: this.#plan,
      notice: this.#notice,
      unsent: this.#unsent,
      lost: this.#lost,
      error: this.#error,
    };
  }

  #setUnsent(messages: readonly Message[]): void {
    if (messages.length === this.#unsent.length) return;
    this.#unsent = messages;
    this.#onChange();
  }
}

/**
 * Whether two calls ask the same, so that the later one can be shown as the
 * same object.
 */
function isSame(call: AskedToolCall, other: AskedToolCall): boolean {
  if (call.toolCallId !== other.toolCallId) return false;
  const [digest, otherDigest] = [
    call.shownDigest ?? [],
    other.shownDigest ?? [],
  ];
  if (digest.length !== otherDigest.length) return false;
  return (
    digest.every((byte, index) => byte === otherDigest[index]) &&
    equals(ToolCallSchema, call, other)
  );
}

/**
 * Returns the client's message that an event records.
 */
export function recordedMessage({ payload }: TaskEvent): Message | undefined {
  switch (payload.case) {
    case "message":
      return payload.value;
    case "created":
    case "messageQueued":
      return payload.value.message;
    default:
      return undefined;
  }
}
