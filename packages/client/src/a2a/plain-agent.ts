import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import {
  isAtRest,
  type Message,
  MessageQueuedSchema,
  StateChangeSchema,
  type Task,
  type TaskEvent,
  TaskEventSchema,
  TaskState,
  TextContentSchema,
} from "@devtool/schema";
import {
  decodeOwnFields,
  decodeStreamFrame,
  decodeTask,
  extensionMetadata,
  taskEventMetadata,
} from "@devtool/schema/a2a-v03";
import {
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/schema/json";

/**
 * What is known of a stream when its next frame is read: the last event, or
 * what the caller knows before the first one.
 */
export interface StreamPosition {
  readonly sequence: bigint;
  /**
   * Empty if the task is not known yet.
   */
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState;
  /**
   * The message that the stream answers. Undefined after the first event.
   */
  readonly sent?: Message | undefined;
}

/**
 * The events that one frame stands for.
 */
export interface FrameEvents {
  readonly events: readonly TaskEvent[];
  /**
   * Ends the exchange, unless another frame follows.
   */
  readonly end?: TaskEvent;
}

/**
 * Reads the answer of `message/send`, `tasks/get` or `tasks/cancel`.
 *
 * Artifacts become messages of the agent after the history. An answer that is
 * only a message becomes a completed task.
 */
export function taskFromAnswer(json: JsonValue): Task {
  const answer = objectOrEmpty(json);
  if (answer.kind !== "message") {
    return decodeTask(withArtifactsInHistory(answer));
  }
  const { taskId, contextId } = readIds(answer);
  return decodeTask({
    kind: "task",
    id: taskId,
    contextId,
    status: { state: "completed" },
    history: [answer],
  });
}

/**
 * Reads a frame of an agent that may not have the extension. One frame may be
 * several events.
 *
 * Text in a status that ends the exchange becomes an event before the change of
 * state, and artifacts become text. A whole task is a snapshot from before or
 * after the exchange, so its state ends the exchange only if no frame follows,
 * and what is already known of it is not repeated.
 */
export function eventsFromFrame(
  frame: JsonValue,
  position: StreamPosition,
): FrameEvents {
  const json = objectOrEmpty(frame);
  switch (json.kind) {
    case "task":
      return eventsFromTask(json, position);
    case "artifact-update": {
      const text = plainText(objectOrEmpty(json.artifact));
      return { events: textEvents(text, { ...position, ...readIds(json) }) };
    }
    case "message": {
      // An answer that is only a message completes its task.
      const ids = readIds(json);
      const end = create(TaskEventSchema, {
        ...ids,
        state: TaskState.COMPLETED,
        payload: { case: "stateChange", value: create(StateChangeSchema) },
      });
      return {
        events: [...textEvents(plainText(json), { ...position, ...ids }), end],
      };
    }
    default:
      return eventsFromUpdate(json, decodeStreamFrame(frame, 0n));
  }
}

/**
 * Reads a whole task that starts a stream as the receipt of the message just
 * sent to it: the message, or that it is queued. Returns undefined if the task
 * is something else.
 */
export function receivedMessage(
  event: TaskEvent,
  { taskId, sent }: StreamPosition,
  task: JsonObject,
): TaskEvent | undefined {
  if (event.payload.case !== "created" || event.taskId !== taskId || !sent) {
    return undefined;
  }
  const { queuedMessages } = decodeOwnFields(objectOrEmpty(task.metadata));
  const queued = queuedMessages.find(
    ({ message }) => message?.messageId === sent.messageId,
  );
  if (!queued) return { ...event, payload: { case: "message", value: sent } };
  const value = create(MessageQueuedSchema, {
    message: sent,
    delivery: queued.delivery,
  });
  return { ...event, payload: { case: "messageQueued", value } };
}

function eventsFromTask(
  json: JsonObject,
  position: StreamPosition,
): FrameEvents {
  const created = decodeStreamFrame(json, 0n);
  const received = receivedMessage(created, position, json);
  const isKnown = position.taskId === created.taskId;
  const events = isKnown
    ? received
      ? [received]
      : []
    : openingEvents(json, created);
  if (!isAtRest(created.state)) return { events };
  const text = plainText(objectOrEmpty(objectOrEmpty(json.status).message));
  const end = create(TaskEventSchema, {
    taskId: stringOrEmpty(json.id),
    contextId: stringOrEmpty(json.contextId),
    state: created.state,
    payload: {
      case: "stateChange",
      value: create(StateChangeSchema, { text }),
    },
  });
  return { events, end };
}

/**
 * The start of a task, and what the agent has said and made so far. Messages of
 * the extension are left out, because they are not text.
 */
function openingEvents(json: JsonObject, created: TaskEvent): TaskEvent[] {
  const isEnded = isAtRest(created.state);
  const open = isEnded ? { ...created, state: TaskState.WORKING } : created;
  const said = listOrEmpty(withArtifactsInHistory(json).history)
    .map(objectOrEmpty)
    .filter(
      ({ role, metadata }) =>
        role === "agent" &&
        extensionMetadata(objectOrEmpty(metadata)) === undefined,
    );
  const saidNow = isEnded
    ? []
    : [objectOrEmpty(objectOrEmpty(json.status).message)];
  return [
    open,
    ...[...said, ...saidNow].flatMap((message) =>
      textEvents(plainText(message), open),
    ),
  ];
}

/**
 * Reads an update of a task. Devtool's server sends one event per update and
 * marks those that no other agent sends. For other agents, the state alone ends
 * the exchange, whatever the update says beside it.
 */
function eventsFromUpdate(json: JsonObject, event: TaskEvent): FrameEvents {
  const { payload } = event;
  const metadata = objectOrEmpty(json.metadata);
  if (!isAtRest(event.state) || taskEventMetadata(metadata)) {
    return { events: [event] };
  }
  const end = {
    ...event,
    payload: { case: "stateChange" as const, value: create(StateChangeSchema) },
  };
  if (!extensionMetadata(metadata)) {
    const text = plainText(objectOrEmpty(objectOrEmpty(json.status).message));
    return {
      events: [
        ...textEvents(text, { ...event, state: TaskState.WORKING }),
        end,
      ],
    };
  }
  if (payload.case === "text") {
    return { events: [{ ...event, state: TaskState.WORKING }, end] };
  }
  // A question may be one of several, so it ends the exchange only if no frame
  // follows.
  if (payload.case === "toolCall" || payload.case === "thought") {
    return { events: [event], end };
  }
  return { events: [event] };
}

function textEvents(
  text: string,
  { taskId, contextId, state }: Omit<StreamPosition, "sequence">,
): TaskEvent[] {
  if (text === "") return [];
  const payload = {
    case: "text",
    value: create(TextContentSchema, { text }),
  } as const;
  return [create(TaskEventSchema, { taskId, contextId, state, payload })];
}

function withArtifactsInHistory(task: JsonObject): JsonObject {
  const messages = listOrEmpty(task.artifacts).map((artifact): JsonObject => {
    const { artifactId, parts } = objectOrEmpty(artifact);
    return {
      kind: "message",
      messageId: stringOrEmpty(artifactId),
      role: "agent",
      parts: listOrEmpty(parts),
    };
  });
  return { ...task, history: [...listOrEmpty(task.history), ...messages] };
}

function readIds({ taskId, contextId }: JsonObject): {
  readonly taskId: string;
  readonly contextId: string;
} {
  return { taskId: stringOrEmpty(taskId), contextId: stringOrEmpty(contextId) };
}

/**
 * Returns the parts of a message or an artifact as text. Data is shown as JSON.
 */
function plainText({ parts }: JsonObject): string {
  const texts = listOrEmpty(parts).map((part) => {
    const { kind, text, data, metadata } = objectOrEmpty(part);
    if (kind === "text") return stringOrEmpty(text);
    if (kind !== "data" || !isObject(data)) return "";
    // Official SDKs wrap data that is not an object in one, and mark that in
    // the metadata.
    const isWrapped = objectOrEmpty(metadata).data_part_compat === true;
    return JSON.stringify(isWrapped ? (data.value ?? null) : data);
  });
  return texts.join("");
}
