import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import {
  isInterrupted,
  isTerminal,
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
  decodeQueue,
  decodeStreamFrame,
  decodeTask,
  extensionMetadata,
  taskEventMetadata,
} from "@devtool/schema/a2a-v03";
import { isObject, listOf, objectOf, textOf } from "./json.ts";

/** Where a stream stands: the last event, as far as the next one needs it. Its task is empty when nothing is known yet. */
export interface StreamPosition {
  readonly sequence: bigint;
  readonly taskId: string;
  readonly contextId: string;
  readonly state: TaskState;
  /** The message that the stream answers; undefined once something came behind it. */
  readonly sent?: Message;
}

/**
 * Reads the answer of `message/send`, `tasks/get` and `tasks/cancel`. What the task made as artifacts is told as messages of
 * the agent behind its history; an agent that answers with a message alone has a task that is completed.
 */
export function taskFromAnswer(json: JsonValue): Task {
  const answer = objectOf(json);
  if (answer.kind !== "message") return decodeTask(withArtifacts(answer));
  return decodeTask({ ...placeOf(answer), kind: "task", status: { state: "completed" }, history: [answer] });
}

/** What a frame tells. */
export interface FrameEvents {
  readonly events: readonly TaskEvent[];
  /** Ends the exchange, unless another frame follows. */
  readonly end?: TaskEvent;
}

/**
 * Reads a frame of an agent that may not know our extension: a frame may be several events. What is said in a state that
 * ends the exchange is told before the change of state; artifacts are text. A task that comes whole is as it was before the
 * exchange or as it is after it: its state ends the exchange only when nothing follows, and what is known of it is not told
 * again.
 */
export function eventsFromFrame(frame: JsonValue, position: StreamPosition): FrameEvents {
  const json = objectOf(frame);
  switch (json.kind) {
    case "task":
      return wholeTask(json, position);
    case "artifact-update":
      return { events: textEvents(partsText(objectOf(json.artifact)), { ...position, ...idsOf(json) }) };
    case "message":
      return { events: repliedEvents(json, position) };
    default:
      return updateEvents(json, decodeStreamFrame(frame, 0n));
  }
}

/**
 * A task that goes on may be told as a whole when it has received the message that was sent to it: the event is the
 * message then, or that it waits. Undefined when it is something else.
 */
export function receivedMessage(
  event: TaskEvent,
  { taskId, sent }: StreamPosition,
  task: JsonObject,
): TaskEvent | undefined {
  if (event.payload.case !== "created" || event.taskId !== taskId || !sent) return undefined;
  const queued = decodeQueue(objectOf(task.metadata)).find(({ message }) => message?.messageId === sent.messageId);
  if (!queued) return { ...event, payload: { case: "message", value: sent } };
  const value = create(MessageQueuedSchema, { message: sent, delivery: queued.delivery });
  return { ...event, payload: { case: "messageQueued", value } };
}

function wholeTask(json: JsonObject, position: StreamPosition): FrameEvents {
  const created = decodeStreamFrame(json, 0n);
  const received = receivedMessage(created, position, json);
  const known = received ? [received] : [];
  const events = position.taskId === created.taskId ? known : openingEvents(json, created);
  return ends(created.state) ? { events, end: stateChange(json, created.state) } : { events };
}

/** How a task began, and what the agent has said and made; what is the extension's own has no form in words. */
function openingEvents(json: JsonObject, created: TaskEvent): TaskEvent[] {
  const said = listOf(withArtifacts(json).history)
    .map(objectOf)
    .filter(({ role, metadata }) => role === "agent" && extensionMetadata(objectOf(metadata)) === undefined);
  const status = ends(created.state) ? [] : [objectOf(objectOf(json.status).message)];
  const open = ends(created.state) ? { ...created, state: TaskState.WORKING } : created;
  return [open, ...[...said, ...status].flatMap((message) => textEvents(partsText(message), open))];
}

function repliedEvents(json: JsonObject, position: StreamPosition): TaskEvent[] {
  const place = { ...position, ...idsOf(json) };
  const end = create(TaskEventSchema, {
    ...idsOf(place),
    state: TaskState.COMPLETED,
    payload: { case: "stateChange", value: create(StateChangeSchema) },
  });
  return [...textEvents(partsText(json), place), end];
}

/**
 * Reads an update of a task. Our own server has one event for each update, and marks the ones that no other agent sends;
 * of other agents the state alone says that the exchange ends, whatever the update tells beside it.
 */
function updateEvents(json: JsonObject, event: TaskEvent): FrameEvents {
  const { payload, state } = event;
  const metadata = objectOf(json.metadata);
  if (!ends(state) || taskEventMetadata(metadata)) return { events: [event] };
  const end = { ...event, payload: { case: "stateChange" as const, value: create(StateChangeSchema) } };
  if (!extensionMetadata(metadata)) {
    const said = partsText(objectOf(objectOf(json.status).message));
    return { events: [...textEvents(said, { ...event, state: TaskState.WORKING }), end] };
  }
  if (payload.case === "text") return { events: [{ ...event, state: TaskState.WORKING }, end] };
  // A question may be one of several: it ends the exchange when nothing follows it.
  if (payload.case === "toolCall" || payload.case === "thought") return { events: [event], end };
  return { events: [event] };
}

function stateChange(json: JsonObject, state: TaskState): TaskEvent {
  const text = partsText(objectOf(objectOf(json.status).message));
  return create(TaskEventSchema, {
    ...idsOf({ taskId: json.id ?? "", contextId: json.contextId ?? "" }),
    state,
    payload: { case: "stateChange", value: create(StateChangeSchema, { text }) },
  });
}

function textEvents(text: string, { taskId, contextId, state }: Omit<StreamPosition, "sequence">): TaskEvent[] {
  if (text === "") return [];
  const payload = { case: "text", value: create(TextContentSchema, { text }) } as const;
  return [create(TaskEventSchema, { taskId, contextId, state, payload })];
}

function ends(state: TaskState): boolean {
  return isTerminal(state) || isInterrupted(state);
}

function withArtifacts(task: JsonObject): JsonObject {
  const made = listOf(task.artifacts).map((artifact): JsonObject => {
    const { artifactId, parts } = objectOf(artifact);
    return { kind: "message", messageId: textOf(artifactId), role: "agent", parts: listOf(parts) };
  });
  return { ...task, history: [...listOf(task.history), ...made] };
}

function placeOf({ taskId, contextId }: JsonObject): JsonObject {
  return { id: textOf(taskId), contextId: textOf(contextId) };
}

function idsOf({ taskId, contextId }: { readonly taskId?: unknown; readonly contextId?: unknown }): {
  readonly taskId: string;
  readonly contextId: string;
} {
  return { taskId: textOf(taskId), contextId: textOf(contextId) };
}

/** Data that is not an object comes wrapped in one, marked in its metadata as official SDKs mark it. */
function unwrapped(data: JsonObject, metadata: JsonValue | undefined): JsonValue {
  return objectOf(metadata).data_part_compat === true ? (data.value ?? null) : data;
}

/** What the parts of a message or an artifact say in words; data is shown as the JSON that it is. */
function partsText({ parts }: JsonObject): string {
  return listOf(parts)
    .map((part) => {
      const { kind, text, data } = objectOf(part);
      if (kind === "text") return textOf(text);
      return kind === "data" && isObject(data) ? JSON.stringify(unwrapped(data, objectOf(part).metadata)) : "";
    })
    .join("");
}
