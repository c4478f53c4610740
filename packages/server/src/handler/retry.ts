import { equals } from "@bufbuild/protobuf";
import {
  confirmationsOf,
  type Message,
  MessageSchema,
  type TaskEvent,
} from "@devtool/schema";

/**
 * Whether a message, sent to a task (empty for none), repeats the message that
 * an event recorded.
 */
export function isRetry(
  event: TaskEvent,
  requestedTask: string,
  message: Message,
): boolean {
  const { payload } = event;
  const isWrapped =
    payload.case === "created" || payload.case === "messageQueued";
  const recorded = isWrapped
    ? payload.value.message
    : payload.case === "message"
      ? payload.value
      : undefined;
  if (!recorded) return false;
  const opensTask =
    payload.case === "created" || confirmationsOf(message).length > 0;
  const isSameTask =
    requestedTask === "" ? opensTask : requestedTask === event.taskId;
  if (isSameTask && isSameMessage(recorded, message)) return true;
  // In A2A 1.0 a message to a task that has ended creates another task, which
  // refers to it. The task may have ended between the two copies of the
  // message, so both forms count as the same.
  const recordedTask = payload.case === "created" ? "" : event.taskId;
  return isSameMessage(
    withReference(recorded, recordedTask),
    withReference(message, requestedTask),
  );
}

/**
 * Returns a message with the task that it was sent to among the tasks that it
 * refers to.
 */
function withReference(message: Message, taskId: string): Message {
  const ids = new Set([...message.referenceTaskIds, taskId]);
  ids.delete("");
  return { ...message, referenceTaskIds: [...ids].sort() };
}

/**
 * Whether two messages are equal apart from their metadata, where for instance
 * a trace id may differ, from the trace of their requests, from the roles of
 * their sender at that time, from what the server adds to a fork, and from MCP
 * servers, which `assertSameSettings` compares.
 */
function isSameMessage(one: Message, other: Message): boolean {
  const ignored = {
    extensions: [],
    metadata: {},
    mcpServers: [],
    sender: undefined,
    traceContext: undefined,
  };
  return equals(
    MessageSchema,
    { ...one, ...ignored, ...requestedFork(one) },
    { ...other, ...ignored, ...requestedFork(other) },
  );
}

/** Returns the fork of a message as its client asks for it. */
function requestedFork({ fork }: Message): Pick<Message, "fork"> {
  if (!fork) return {};
  return { fork: { ...fork, lastSequence: 0n, agentSessionId: "" } };
}
