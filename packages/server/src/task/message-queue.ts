import { create } from "@bufbuild/protobuf";
import { defined } from "@devtool/internal/json";
import { callerOfTask } from "@devtool/internal/task-caller";
import {
  ApprovalMode,
  awaitedToolCalls,
  confirmationsOf,
  isAtRest,
  isInterrupted,
  type Message,
  MessageDelivery,
  MessageQueuedSchema,
  MessageTakenSchema,
  MessageWithdrawnSchema,
  type QueuedMessage,
  type Task,
  TaskState,
} from "@devtool/schema";
import type { AgentExecutor } from "../agent/agent-executor.ts";
import { isPrompt } from "../agent/turn-news.ts";
import { Code, DevtoolError } from "../errors.ts";
import type { LogEntry } from "./event-log.ts";
import type { Incoming } from "./task-handle.ts";

/** The maximum number of queued messages of a task. */
const MAX_QUEUED_MESSAGES = 16;

/**
 * Whether the present turn of a task has settings of its own
 * (`Message.turnSettings`). No message steers such a turn, so that its settings
 * hold until it ends.
 */
export function hasOwnTurn({ history }: Task): boolean {
  return history.findLast(isPrompt)?.turnSettings !== undefined;
}

/**
 * Creates the entry that queues a message; undefined for a message that the
 * agent takes now: an answer to a tool call, or a message to a task that
 * neither works nor waits for an answer.
 *
 * A task that waits for an answer keeps waiting for it. Throws
 * `Code.ResourceExhausted` when the queue is full.
 */
export function queuedEntry(
  task: Task,
  { message, approvalMode, delivery }: Incoming,
  { takesSteering }: Pick<AgentExecutor, "takesSteering">,
): LogEntry | undefined {
  const isTakenNow =
    confirmationsOf(message).length > 0 ||
    (isAtRest(task.state) && awaitedToolCalls(task).length === 0);
  if (isTakenNow) return undefined;
  if (task.queuedMessages.length >= MAX_QUEUED_MESSAGES) {
    throw new DevtoolError(
      `task ${JSON.stringify(task.id)} has ${task.queuedMessages.length} messages waiting: limit is ${MAX_QUEUED_MESSAGES}`,
      Code.ResourceExhausted,
      {
        remedy: "withdraw one, or wait until the agent takes one",
        details: { field: "task_id", value: task.id },
      },
    );
  }
  const mayBeSteered = takesSteering === true && !hasOwnTurn(task);
  const steers =
    delivery === MessageDelivery.STEER &&
    mayBeSteered &&
    !message.turnSettings &&
    // The tools of a turn are those with which it began.
    message.mcpServers.length === 0 &&
    hasRoles(message, callerOfTask(task).roles);
  const openCalls = isInterrupted(task.state) ? awaitedToolCalls(task) : [];
  const value = create(
    MessageQueuedSchema,
    defined({
      message,
      delivery: steers ? MessageDelivery.STEER : MessageDelivery.QUEUE,
      openCalls,
      approvalMode,
    }),
  );
  return { payload: { case: "messageQueued", value } };
}

/**
 * Whether a message was sent with the same roles as what the agent works on: a
 * turn has the tools and limits of the roles with which it began.
 */
function hasRoles({ sender }: Message, roles: readonly string[]): boolean {
  const own = sender?.roles ?? [];
  return own.join("\n") === roles.join("\n");
}

/**
 * Creates the entry that moves a queued message to the history. The task
 * changes to the approval mode that came with the message.
 */
export function takenEntry(
  task: Task,
  { message, approvalMode }: QueuedMessage,
): LogEntry {
  const value = create(MessageTakenSchema, {
    messageId: message?.messageId ?? "",
  });
  return {
    state: TaskState.WORKING,
    payload: { case: "messageTaken", value },
    approvalMode: changedMode(task, approvalMode),
  };
}

/** Creates the entry of a message with which the agent goes on with its goal. */
export function goalEntry(value: Message): LogEntry {
  return { state: TaskState.WORKING, payload: { case: "message", value } };
}

/**
 * Returns the approval mode that a message asks for; undefined when it asks for
 * none, or for the present one.
 */
export function changedMode(
  { sessionSettings }: Task,
  requested: ApprovalMode | undefined,
): ApprovalMode | undefined {
  const current = sessionSettings?.approvalMode ?? ApprovalMode.UNSPECIFIED;
  return requested === ApprovalMode.UNSPECIFIED || requested === current
    ? undefined
    : requested;
}

/**
 * Creates the entry that removes a queued message. Throws
 * `Code.FailedPrecondition` when the message is in the history already, and
 * `Code.NotFound` when the task does not know it.
 */
export function withdrawnEntry(task: Task, messageId: string): LogEntry {
  if (
    task.queuedMessages.some(({ message }) => message?.messageId === messageId)
  ) {
    return {
      payload: {
        case: "messageWithdrawn",
        value: create(MessageWithdrawnSchema, { messageId }),
      },
    };
  }
  const details = { field: "message_id", value: messageId };
  const subject = `message ${JSON.stringify(messageId)}`;
  if (task.history.some((message) => message.messageId === messageId)) {
    throw new DevtoolError(
      `${subject} was already taken: it cannot be withdrawn`,
      Code.FailedPrecondition,
      {
        details,
      },
    );
  }
  throw new DevtoolError(
    `${subject} does not wait in task ${JSON.stringify(task.id)}`,
    Code.NotFound,
    { details },
  );
}
