import { create, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { type Timestamp, timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { EXTENSION_URI, TASK_EVENT_URI } from "../extension.ts";
import {
  type Message as A2aMessage,
  MessageSchema as A2aMessageSchema,
  PartSchema as A2aPartSchema,
  TaskArtifactUpdateEventSchema,
  type TaskStatus,
  type TaskStatusUpdateEvent,
  TaskStatusUpdateEventSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { DevelopmentToolEvent_DevelopmentToolEventKind as Kind } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import {
  StateChangeSchema,
  type TaskEvent,
  TaskEventSchema,
  TextContentSchema,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import { type Message, type Part, Role, TaskState, ToolCallDetailSchema } from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeRfcJson, isObject } from "../rfc-json.ts";
import { endsExchange } from "../task-state.ts";
import { quote, WireError } from "../wire-error.ts";
import { artifactEventOf, encodeArtifactUpdate } from "./artifact.ts";
import { decodeMessage, eventOf } from "./message.ts";
import { taskEventMetadata } from "./metadata.ts";
import { encodePart } from "./part.ts";
import { plainText } from "./plain-text.ts";
import { decodeState, encodeState } from "./state.ts";
import { decodeCreated, encodeCreated } from "./task.ts";
import type { StreamView } from "./view.ts";

/**
 * Writes an event as the JSON text of a `result` in a stream of A2A 0.3: a Task for `created`, a TaskArtifactUpdateEvent
 * for what becomes of an artifact, otherwise a TaskStatusUpdateEvent. Undefined when the view shows nothing of it.
 */
export function encodeStreamFrame(event: TaskEvent, view: StreamView): string | undefined {
  const { payload } = event;
  if (payload.case === "created") return JSON.stringify(encodeCreated(event, payload.value, view));
  if (payload.case === "artifact") return JSON.stringify(encodeArtifactUpdate(event, payload.value));
  const frame = view === "extension" ? extensionUpdate(event) : plainUpdate(event);
  return frame && JSON.stringify(frame);
}

/** Reads a `result` of a stream. The sequence is the one of its SSE id, or counted by the caller. Throws a `WireError`. */
export function decodeStreamFrame(result: JsonValue, sequence: bigint): TaskEvent {
  if (!isObject(result)) throw new WireError("result", quote(result), "must be a JSON object");
  switch (result.kind) {
    case "task":
      return decodeCreated(result, sequence);
    case "status-update":
      return decodeUpdate(decodeRfcJson(TaskStatusUpdateEventSchema, result), sequence);
    case "artifact-update":
      return artifactEventOf(decodeRfcJson(TaskArtifactUpdateEventSchema, result), sequence);
    case "message":
      return repliedEvent(decodeRfcJson(A2aMessageSchema, result), sequence);
    default:
      throw new WireError("result.kind", quote(result.kind), "is no frame of a task");
  }
}

/** The event that an answer stands for that is a message alone. */
function repliedEvent(message: A2aMessage, sequence: bigint): TaskEvent {
  const { taskId, contextId } = message;
  const value = decodeMessage(message, "result");
  return create(TaskEventSchema, {
    sequence,
    taskId,
    contextId,
    state: TaskState.COMPLETED,
    payload: { case: "reply", value },
  });
}

/** The update as plain data in the form that the envelope's message has in JSON; a test holds the two together. */
function extensionUpdate(event: TaskEvent): JsonObject {
  return updateJson(event, messageJson(event), updateMetadata(event));
}

/** The metadata of an update: the extension's event under its URI, beside it what the RFC has no kind or field for. */
export function updateMetadata(event: TaskEvent): JsonObject {
  const error = event.payload.case === "stateChange" ? event.payload.value.error : "";
  const metadata: JsonObject = {
    kind: Kind[kindOf(event)],
    ...(event.model !== "" && { model: event.model }),
    ...(error !== "" && { error }),
  };
  return { [EXTENSION_URI]: metadata, ...ownMetadata(event) };
}

/** What the RFC has no kind or field for, as the JSON of an event that holds only that. */
function ownMetadata({ payload, toolCallDetail }: TaskEvent): JsonObject | undefined {
  if (toolCallDetail) return { [TASK_EVENT_URI]: { toolCallDetail: toJson(ToolCallDetailSchema, toolCallDetail) } };
  if (!OWN_PAYLOADS.has(payload.case)) return undefined;
  return { [TASK_EVENT_URI]: toJson(TaskEventSchema, create(TaskEventSchema, { payload })) };
}

const OWN_PAYLOADS: ReadonlySet<TaskEvent["payload"]["case"]> = new Set([
  "usage",
  "notice",
  "summary",
  "citation",
  "reply",
]);

function plainUpdate(event: TaskEvent): JsonObject | undefined {
  const text = plainText(event);
  if (text === undefined) return undefined;
  return updateJson(event, text === "" ? undefined : agentMessage(event, [{ kind: "text", text }]), undefined);
}

function updateJson(event: TaskEvent, message: JsonObject | undefined, metadata: JsonObject | undefined): JsonObject {
  return {
    kind: "status-update",
    taskId: event.taskId,
    contextId: event.contextId,
    status: {
      state: encodeState(event.state),
      ...(message && { message }),
      ...(event.time && { timestamp: isoTime(event.time) }),
    },
    final: endsExchange(event),
    ...(metadata && { metadata }),
  };
}

const ISO_TIMES = new WeakMap<Timestamp, string>();

/** A time as A2A writes it, made once for the events that share it. */
function isoTime(time: Timestamp): string {
  const known = ISO_TIMES.get(time);
  if (known !== undefined) return known;
  const text = timestampDate(time).toISOString();
  ISO_TIMES.set(time, text);
  return text;
}

function kindOf({ payload }: TaskEvent): Kind {
  switch (payload.case) {
    case "text":
    case "citation":
      return Kind.TEXT_CONTENT;
    case "thought":
      return Kind.THOUGHT;
    case "toolCall":
      return Kind.TOOL_CALL_UPDATE;
    default:
      return Kind.STATE_CHANGE;
  }
}

function messageJson(event: TaskEvent): JsonObject | undefined {
  const { payload } = event;
  switch (payload.case) {
    case "text":
      return agentMessage(event, [{ kind: "text", text: payload.value.text }]);
    case "stateChange":
    case "notice":
      return payload.value.text === "" ? undefined : agentMessage(event, [{ kind: "text", text: payload.value.text }]);
    case "citation":
      return agentMessage(event, partsJson([payload]));
    case "thought":
    case "toolCall":
      return agentMessage(event, partsJson([payload]));
    case "reply":
      return agentMessage(event, partsJson(payload.value.parts.map(({ content }) => content)));
    case "message":
      return userMessage(event, payload.value);
    default:
      return undefined;
  }
}

function agentMessage(event: TaskEvent, parts: JsonValue[]): JsonObject {
  const { taskId, contextId, sequence } = event;
  return { kind: "message", messageId: `${taskId}:${sequence}`, role: "agent", parts, taskId, contextId };
}

function userMessage({ taskId, contextId }: TaskEvent, message: Message): JsonObject {
  const parts = partsJson(message.parts.map(({ content }) => content));
  return { kind: "message", messageId: message.messageId, role: "user", parts, taskId, contextId };
}

function partsJson(contents: readonly Part["content"][]): JsonValue[] {
  return contents.flatMap((content) => {
    const part = encodePart({ $typeName: "devtool.v1alpha.Part", content });
    return part ? [toJson(A2aPartSchema, part)] : [];
  });
}

/** The event that an update of a stream stands for. */
function decodeUpdate(update: TaskStatusUpdateEvent, sequence: bigint): TaskEvent {
  const { taskId, contextId, status, metadata } = update;
  if (!status) throw new WireError("result.status", "", "is missing");
  const event = eventOf(metadata);
  const own = ownEventOf(metadata);
  return create(TaskEventSchema, {
    sequence,
    taskId,
    contextId,
    state: decodeState(status.state),
    model: event?.model ?? "",
    payload: own?.payload.case ? own.payload : decodePayload(status, event),
    ...(own?.toolCallDetail && { toolCallDetail: own.toolCallDetail }),
    ...timeOf(status.timestamp),
  });
}

function ownEventOf(metadata: JsonObject | undefined): TaskEvent | undefined {
  const json = taskEventMetadata(metadata);
  return json && decodeRfcJson(TaskEventSchema, json);
}

function decodePayload({ message: envelope }: TaskStatus, event: ReturnType<typeof eventOf>): TaskEvent["payload"] {
  const message = envelope && decodeMessage(envelope, "result.status.message", event);
  if (message?.role === Role.USER) return { case: "message", value: message };
  const content = message?.parts[0]?.content;
  if (content?.case === "toolCall" || content?.case === "thought") return content;
  const text = content?.case === "text" ? content.value : "";
  if (event ? event.kind === Kind.TEXT_CONTENT : text !== "") {
    return { case: "text", value: create(TextContentSchema, { text }) };
  }
  return { case: "stateChange", value: create(StateChangeSchema, { text, error: event?.error ?? "" }) };
}

/** The time of an event; left out when a peer sends none that can be read. */
export function timeOf(timestamp: string): Pick<TaskEvent, "time"> | Record<string, never> {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? {} : { time: timestampFromDate(date) };
}
