import { create } from "@bufbuild/protobuf";
import {
  awaitedToolCalls,
  confirmationsOf,
  isInterrupted,
  isTerminal,
  type Message,
  MessageDelivery,
  MessageQueuedSchema,
  MessageTakenSchema,
  MessageWithdrawnSchema,
  type QueuedMessage,
  StateChangeSchema,
  type Task,
  TaskState,
} from "@devtool/schema";
import { Code, DevtoolError } from "../errors.ts";
import type { LogEntry } from "./event-log.ts";

/** The maximum number of messages that wait for one task. */
const MAX_QUEUED_MESSAGES = 16;

/** Whether a message must wait: the task is at work, or waits for an answer, and the message answers nothing. */
export function mustWait(task: Task, message: Message): boolean {
  if (confirmationsOf(message).length > 0) return false;
  const isAtRest = isTerminal(task.state) || isInterrupted(task.state);
  return !isAtRest || awaitedToolCalls(task).length > 0;
}

/**
 * The entry that keeps a message until the agent takes it. A task that waits for an answer goes on waiting. Throws
 * `Code.ResourceExhausted` when the queue is full.
 */
export function queuedEntry(task: Task, message: Message, delivery: MessageDelivery): LogEntry {
  if (task.queuedMessages.length >= MAX_QUEUED_MESSAGES) {
    throw new DevtoolError(
      `${quoteTask(task)} has ${task.queuedMessages.length} messages waiting: limit is ${MAX_QUEUED_MESSAGES}`,
      Code.ResourceExhausted,
      { remedy: "withdraw one, or wait until the agent takes one", details: { field: "task_id", value: task.id } },
    );
  }
  const openCalls = isInterrupted(task.state) ? awaitedToolCalls(task) : [];
  const value = create(MessageQueuedSchema, { message, delivery, openCalls });
  return { payload: { case: "messageQueued", value } };
}

/** The entry with which the agent takes a message that waited. */
export function takenEntry({ message }: QueuedMessage): LogEntry {
  const value = create(MessageTakenSchema, { messageId: message?.messageId ?? "" });
  return { state: TaskState.WORKING, payload: { case: "messageTaken", value } };
}

/** The messages that are to reach the model before its next step. */
export function steeringMessages({ queuedMessages }: Task): readonly QueuedMessage[] {
  return queuedMessages.filter(({ delivery }) => delivery === MessageDelivery.STEER);
}

/**
 * The entry that removes a message that waits. Throws `Code.FailedPrecondition` when the agent has taken the message,
 * and `Code.NotFound` when the task does not know it.
 */
export function withdrawnEntry(task: Task, messageId: string): LogEntry {
  if (task.queuedMessages.some(({ message }) => message?.messageId === messageId)) {
    return { payload: { case: "messageWithdrawn", value: create(MessageWithdrawnSchema, { messageId }) } };
  }
  const details = { field: "message_id", value: messageId };
  const subject = `message ${JSON.stringify(messageId)}`;
  if (task.history.some((message) => message.messageId === messageId)) {
    throw new DevtoolError(`${subject} was already taken: it cannot be withdrawn`, Code.FailedPrecondition, {
      details,
    });
  }
  throw new DevtoolError(`${subject} does not wait in ${quoteTask(task)}`, Code.NotFound, { details });
}

/**
 * Whether a task goes on with the next message that waits when a turn ends in this state. Calls that still await approval
 * then come first, unless the turn ended them.
 */
export function goesOn(task: Task, state: TaskState | undefined): boolean {
  if (task.queuedMessages.length === 0 || state === undefined) return false;
  return state === TaskState.COMPLETED || (isInterrupted(state) && awaitedToolCalls(task).length === 0);
}

/** The end of a task, with the messages that waited and are not taken any more. */
export function withUntaken(entry: LogEntry, { queuedMessages }: Task): LogEntry {
  const { payload, state = TaskState.UNSPECIFIED } = entry;
  if (queuedMessages.length === 0 || !isTerminal(state) || payload.case !== "stateChange") return entry;
  const untakenMessageIds = queuedMessages.map(({ message }) => message?.messageId ?? "");
  const names = untakenMessageIds.map((id) => JSON.stringify(id)).join(", ");
  const said = [payload.value.text, `messages that were not taken: ${names}`].filter((text) => text !== "").join("\n");
  const value = create(StateChangeSchema, { ...payload.value, text: said, untakenMessageIds });
  return { ...entry, payload: { case: "stateChange", value } };
}

function quoteTask({ id }: Task): string {
  return `task ${JSON.stringify(id)}`;
}
