import {
  create,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { isObject } from "@devtool/internal/json";
import type { StreamView } from "../extension.ts";
import { EXTENSION_URI, TASK_EVENT_URI } from "../extension.ts";
import {
  MessageSchema as A2aMessageSchema,
  TaskSchema as A2aTaskSchema,
  TaskArtifactUpdateEventSchema,
  type TaskStatus,
  type TaskStatusUpdateEvent,
  TaskStatusUpdateEventSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import {
  type DevelopmentToolEvent,
  DevelopmentToolEvent_DevelopmentToolEventKind as Kind,
} from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import {
  StateChangeSchema,
  type TaskEvent,
  TaskEventSchema,
  TextContentSchema,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import {
  Role,
  TaskState,
  ToolCallDetailSchema,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { endsExchange } from "../task-state.ts";
import { toolCallsOf } from "../tool-call.ts";
import { missing, quote, WireError } from "../wire-error.ts";
import { decodeArtifactUpdate, encodeArtifactUpdate } from "./artifact.ts";
import { agentMessageOf, isFramed, kindOfEvent } from "./event-content.ts";
import {
  decodeEventMetadata,
  decodeMessage,
  encodeMessage,
} from "./message.ts";
import { taskEventMetadata } from "./metadata.ts";
import { plainText } from "./plain-text.ts";
import { decodeState, encodeState } from "./state.ts";
import { createdEnvelope, decodeCreated, decodeTime } from "./task.ts";

/**
 * Encodes an event as the JSON text of a stream frame's `result` in A2A 0.3.
 *
 * The result is a Task for `created`, a TaskArtifactUpdateEvent for `artifact`,
 * and a TaskStatusUpdateEvent for the rest. Undefined if the view does not show
 * the event.
 */
export function encodeStreamFrame(
  event: TaskEvent,
  view: StreamView,
): string | undefined {
  const { payload } = event;
  if (payload.case === "created") {
    return JSON.stringify(
      encodeRfcJson(A2aTaskSchema, createdEnvelope(event, payload.value, view)),
    );
  }
  if (payload.case === "artifact") {
    return JSON.stringify(encodeArtifactUpdate(event, payload.value));
  }
  if (view === "plain") {
    const text = plainText(event);
    if (text === undefined) return undefined;
    return text === ""
      ? updateText(event, undefined, undefined)
      : textUpdate(textFrame(event, undefined), event, text);
  }
  if (!isFramed(event)) return undefined;
  const metadata = updateMetadata(event);
  if (payload.case === "text") {
    return textUpdate(textFrame(event, metadata), event, payload.value.text);
  }
  const { taskId, contextId } = event;
  const message = agentMessageOf(event);
  const noKind = Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;
  const json =
    message &&
    encodeRfcJson(
      A2aMessageSchema,
      encodeMessage(message, noKind, { taskId, contextId }),
    );
  return updateText(event, json, metadata);
}

/** The number of tasks of which a `streamFrameEncoder` keeps the last frame. */
const MAX_FRAMES = 64;

/**
 * Returns a function that encodes events as `encodeStreamFrame` does, and
 * pieces of a text in less time than it takes to find them in a cache: the
 * frame of a piece is that of the last one of its task, with another sequence
 * and text, where both were recorded together.
 *
 * @param encode encodes other events
 */
export function streamFrameEncoder(
  encode: typeof encodeStreamFrame,
): typeof encodeStreamFrame {
  const kept = {
    extension: new Map<string, TextFrame>(),
    plain: new Map<string, TextFrame>(),
  };
  return (event, view) => {
    const { payload, taskId } = event;
    if (payload.case !== "text" || payload.value.text === "") {
      return encode(event, view);
    }
    const frames = kept[view];
    const last = frames.get(taskId);
    if (last && isFramedAlike(last.event, event)) {
      return textUpdate(last, event, payload.value.text);
    }
    const metadata = view === "plain" ? undefined : updateMetadata(event);
    const frame = textFrame(event, metadata);
    if (frames.size >= MAX_FRAMES) frames.clear();
    frames.set(taskId, frame);
    return textUpdate(frame, event, payload.value.text);
  };
}

/**
 * Decodes the `result` of a stream frame.
 *
 * The sequence number is the SSE id of the frame, or counted by the caller.
 * Throws a `WireError`.
 */
export function decodeStreamFrame(
  result: JsonValue,
  sequence: bigint,
): TaskEvent {
  if (!isObject(result)) {
    throw new WireError("result", quote(result), "must be a JSON object");
  }
  switch (result.kind) {
    case "task":
      return decodeCreated(result, sequence);
    case "status-update":
      return decodeUpdate(
        decodeRfcJson(TaskStatusUpdateEventSchema, result),
        sequence,
      );
    case "artifact-update":
      return decodeArtifactUpdate(
        decodeRfcJson(TaskArtifactUpdateEventSchema, result),
        sequence,
      );
    case "message": {
      // A message is the whole response of a task.
      const message = decodeRfcJson(A2aMessageSchema, result);
      const { taskId, contextId } = message;
      const payload = {
        case: "reply",
        value: decodeMessage(message, "result"),
      } as const;
      return create(TaskEventSchema, {
        sequence,
        taskId,
        contextId,
        state: TaskState.COMPLETED,
        payload,
      });
    }
    default:
      throw new WireError(
        "result.kind",
        quote(result.kind),
        "is not a frame of a task",
      );
  }
}

/**
 * Encodes the metadata of an update: the extension's event under its URI, and
 * under ours what the RFC has no kind or field for, as a TaskEvent that holds
 * nothing else.
 */
export function updateMetadata(event: TaskEvent): JsonObject {
  const { payload, toolCallDetail, model, userTier } = event;
  const error = payload.case === "stateChange" ? payload.value.error : "";
  const shown: JsonObject = { kind: Kind[kindOfEvent(event)] ?? "", model };
  if (userTier) shown.user_tier = userTier;
  if (error) shown.error = error;
  const metadata: JsonObject = { [EXTENSION_URI]: shown };
  if (toolCallDetail) {
    metadata[TASK_EVENT_URI] = {
      toolCallDetail: toJson(ToolCallDetailSchema, toolCallDetail),
    };
  } else if (payload.case && OWN_PAYLOADS.has(payload.case)) {
    const { jsonName, message } = TaskEventSchema.field[payload.case];
    if (message) {
      metadata[TASK_EVENT_URI] = { [jsonName]: toJson(message, payload.value) };
    }
  }
  return metadata;
}

const OWN_PAYLOADS: ReadonlySet<TaskEvent["payload"]["case"]> = new Set([
  "usage",
  "notice",
  "summary",
  "citation",
  "reply",
  "messageQueued",
  "messageTaken",
  "messageWithdrawn",
  "renamed",
  "sessionTools",
  "goalProgress",
  "workflowRun",
  "ideContext",
  "message",
]);

/** Writes an update of an event, with its message. */
function updateText(
  event: TaskEvent,
  message: JsonObject | undefined,
  metadata: JsonObject | undefined,
): string {
  const [before, behind] = aroundMessage(event, metadata);
  const said = message ? `,"message":${JSON.stringify(message)}` : "";
  return `${before}${said}${behind}`;
}

/**
 * Writes the JSON text of an update before and behind its message, in the form
 * of the message TaskStatusUpdateEvent. It is written directly, because a
 * response has thousands of updates. A test compares it with the message's.
 */
function aroundMessage(
  event: TaskEvent,
  metadata: JsonObject | undefined,
): readonly [string, string] {
  const { state, time } = event;
  const at = time ? `,"timestamp":"${timestampDate(time).toISOString()}"` : "";
  const rest = metadata ? `,"metadata":${JSON.stringify(metadata)}` : "";
  return [
    `{"kind":"status-update",${idsText(event)},"status":{"state":"${encodeState(state)}"`,
    `${at}},"final":${endsExchange(event)}${rest}}`,
  ];
}

function idsText({ taskId, contextId }: TaskEvent): string {
  return `"taskId":${JSON.stringify(taskId)},"contextId":${JSON.stringify(contextId)}`;
}

/** The JSON text of an update whose message is a text. */
interface TextFrame {
  /** The event for which it was made. */
  readonly event: TaskEvent;
  /** Up to the sequence of the event, which ends the id of the message. */
  readonly head: string;
  /** From behind the text. */
  readonly tail: string;
}

function textFrame(
  event: TaskEvent,
  metadata: JsonObject | undefined,
): TextFrame {
  const [before, behind] = aroundMessage(event, metadata);
  const id = JSON.stringify(event.taskId).slice(0, -1);
  const head = [before, `,"message":{"kind":"message","messageId":${id}:`];
  const tail = [`}],${idsText(event)}}`, behind];
  return { event, head: head.join(""), tail: tail.join("") };
}

function textUpdate(
  { head, tail }: TextFrame,
  { sequence }: TaskEvent,
  text: string,
): string {
  return `${head}${sequence}","role":"agent","parts":[{"kind":"text","text":${JSON.stringify(text)}${tail}`;
}

/** Whether two pieces of text of a task have the same `TextFrame`. */
function isFramedAlike(one: TaskEvent, other: TaskEvent): boolean {
  return (
    one.contextId === other.contextId &&
    one.state === other.state &&
    one.model === other.model &&
    one.userTier === other.userTier &&
    one.time?.seconds === other.time?.seconds &&
    one.time?.nanos === other.time?.nanos &&
    !one.toolCallDetail &&
    !other.toolCallDetail
  );
}

function decodeUpdate(
  update: TaskStatusUpdateEvent,
  sequence: bigint,
): TaskEvent {
  const { taskId, contextId, status, metadata } = update;
  if (!status) throw missing("result.status");
  const event = decodeEventMetadata(metadata);
  const ownJson = taskEventMetadata(metadata);
  const own = ownJson && decodeRfcJson(TaskEventSchema, ownJson);
  return create(TaskEventSchema, {
    sequence,
    taskId,
    contextId,
    state: decodeState(status.state),
    model: event?.model ?? "",
    userTier: event?.userTier ?? "",
    payload: own?.payload.case ? own.payload : decodePayload(status, event),
    toolCallDetail: own?.toolCallDetail,
    time: decodeTime(status.timestamp),
  });
}

function decodePayload(
  { message: envelope }: TaskStatus,
  event: DevelopmentToolEvent | undefined,
): TaskEvent["payload"] {
  const message =
    envelope && decodeMessage(envelope, "result.status.message", event);
  if (message?.role === Role.USER) return { case: "message", value: message };
  const content = message?.parts[0]?.content;
  const text = content?.case === "text" ? content.value : "";
  const isStateChange = event?.kind === Kind.STATE_CHANGE;
  if (
    !isStateChange &&
    (content?.case === "toolCall" || content?.case === "thought")
  ) {
    return content;
  }
  if (event ? event.kind === Kind.TEXT_CONTENT : text !== "") {
    return { case: "text", value: create(TextContentSchema, { text }) };
  }
  const openCalls = isStateChange && message ? toolCallsOf(message) : [];
  return {
    case: "stateChange",
    value: create(StateChangeSchema, {
      text,
      error: event?.error ?? "",
      openCalls,
    }),
  };
}
