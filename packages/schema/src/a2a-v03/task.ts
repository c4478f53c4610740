import {
  create,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import {
  type Timestamp,
  timestampDate,
  timestampFromDate,
} from "@bufbuild/protobuf/wkt";
import type { StreamView } from "../extension.ts";
import {
  EXTENSION_URI,
  SEQUENCE_URI,
  SESSION_SETTINGS_URI,
  TASK_EVENT_URI,
  TASK_URI,
} from "../extension.ts";
import {
  type Message as A2aMessage,
  type Task as A2aTask,
  TaskSchema as A2aTaskSchema,
  type TaskStatus,
  TaskStatusSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { DevelopmentToolEvent_DevelopmentToolEventKind as Kind } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import { AgentSettingsSchema } from "../gen/devtool/a2a/v1alpha/settings_pb.ts";
import { SessionSettingsSchema } from "../gen/devtool/v1alpha/session_settings_pb.ts";
import {
  StateChangeSchema,
  type TaskCreated,
  TaskCreatedSchema,
  type TaskEvent,
  TaskEventSchema,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import {
  type Message,
  MessageSchema,
  PartSchema,
  type QueuedMessage,
  Role,
  type Task,
  TaskSchema,
  type TaskState,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { defined, isObject } from "../json.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { isInterrupted } from "../task-state.ts";
import { awaitedToolCalls } from "../tool-call.ts";
import { quote, WireError } from "../wire-error.ts";
import { artifactEnvelope, decodeArtifact } from "./artifact.ts";
import { mergeSteps, splitQuestion, withQuestion } from "./history.ts";
import {
  decodeEventMetadata,
  decodeMessage,
  encodeHistoryMessage,
  encodeMessage,
} from "./message.ts";
import {
  extensionMetadata,
  foreignMetadata,
  sessionMetadata,
  taskEventMetadata,
} from "./metadata.ts";
import { stateInWords } from "./plain-text.ts";
import { decodeState, encodeState } from "./state.ts";

/** For messages whose metadata does not concern the extension. */
const NO_KIND = Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;

/** Converts the event that creates a task to a Task of A2A 0.3. */
export function createdEnvelope(
  event: TaskEvent,
  created: TaskCreated,
  view: StreamView,
): A2aTask {
  const place = { taskId: event.taskId, contextId: event.contextId };
  const history = created.message
    ? [encodeMessage(inView(created.message, view), NO_KIND, place)]
    : [];
  return create(A2aTaskSchema, {
    kind: "task",
    id: event.taskId,
    contextId: event.contextId,
    status: statusOf(event.state, event.time),
    history,
    ...(view === "extension" && metadataField(settingsMetadata(created))),
  });
}

/**
 * Decodes the Task frame that starts a stream, as the event that created the
 * task. Its state is the current one.
 */
export function decodeCreated(json: JsonObject, sequence: bigint): TaskEvent {
  const task = decodeRfcJson(A2aTaskSchema, json);
  const [first] = task.history;
  return create(TaskEventSchema, {
    sequence,
    taskId: task.id,
    contextId: task.contextId,
    state: decodeState(task.status?.state ?? ""),
    model: decodeAnswering(task.metadata).model,
    time: decodeTime(task.status?.timestamp),
    payload: {
      case: "created",
      value: create(TaskCreatedSchema, {
        ...decodeSettings(task.metadata),
        message: first && decodeMessage(first, "result.history[0]"),
      }),
    },
  });
}

/** The parts of a task to include. */
export interface EncodeTaskOptions {
  /** Maximum number of messages in the history, newest kept. Default: all. */
  readonly historyLength?: number;
  /**
   * Whether to include the payloads of the extension. Default: `extension`, so
   * they are included.
   */
  readonly view?: StreamView;
}

/** Encodes a task as the JSON of a Task of A2A 0.3. */
export function encodeTask(
  task: Task,
  options: EncodeTaskOptions = {},
): JsonObject {
  return encodeRfcJson(A2aTaskSchema, taskEnvelope(task, options));
}

/** Converts a task to a Task of A2A 0.3. */
export function taskEnvelope(
  task: Task,
  { historyLength, view = "extension" }: EncodeTaskOptions,
): A2aTask {
  const place = { taskId: task.id, contextId: task.contextId };
  const { rest, question } =
    view === "extension" ? splitQuestion(task) : { rest: task.history };
  const messages = rest
    .map((message) => inView(message, view))
    .filter(({ parts }) => parts.length > 0);
  const history = messages.flatMap((message) =>
    view === "extension"
      ? encodeHistoryMessage(message, place)
      : [encodeMessage(message, NO_KIND, place)],
  );
  const message = statusMessage(task, view, question);
  return create(A2aTaskSchema, {
    kind: "task",
    id: task.id,
    contextId: task.contextId,
    status: { ...statusOf(task.state, task.updateTime), message },
    history:
      historyLength === undefined
        ? history
        : history.slice(
            history.length - Math.min(historyLength, history.length),
          ),
    artifacts: task.artifacts.map(artifactEnvelope),
    metadata: view === "extension" ? taskMetadata(task) : undefined,
  });
}

/**
 * Decodes a Task of A2A 0.3. Fields that it does not have, such as the
 * principal, stay empty.
 */
export function decodeTask(json: JsonValue): Task {
  const task = decodeRfcJson(A2aTaskSchema, json);
  if (task.kind !== "task") {
    throw new WireError("kind", quote(task.kind), "is not a task");
  }
  const explained =
    task.status?.message &&
    decodeMessage(task.status.message, "status.message");
  const content = explained?.parts[0]?.content;
  const history = task.history.map((message, index) =>
    decodeMessage(message, `history[${index}]`),
  );
  const digits = task.metadata?.[SEQUENCE_URI];
  return create(TaskSchema, {
    id: task.id,
    contextId: task.contextId,
    state: decodeState(task.status?.state ?? ""),
    stateText: content?.case === "text" ? content.value : "",
    ...decodeAnswering(task.metadata),
    history: withQuestion(mergeSteps(history), explained),
    artifacts: task.artifacts.map((artifact, index) =>
      decodeArtifact(artifact, `artifacts[${index}]`),
    ),
    // Other agents and earlier servers give none (STREAM-3). 18 digits always
    // fit an int64.
    sequence:
      typeof digits === "string" && /^\d{1,18}$/.test(digits)
        ? BigInt(digits)
        : 0n,
    queuedMessages: decodeQueue(task.metadata),
    ...decodeSettings(task.metadata),
    updateTime: decodeTime(task.status?.timestamp),
  });
}

/**
 * Finds the model and the error of a task. Earlier servers have them under the
 * extension's URI, among the settings.
 */
function decodeAnswering(
  metadata: JsonObject | undefined,
): Pick<Task, "model" | "error"> {
  const json = taskEventMetadata(metadata);
  if (!json) {
    return {
      model: decodeEventMetadata(metadata)?.model ?? "",
      error: decodeEventMetadata(metadata)?.error ?? "",
    };
  }
  const { model, payload } = decodeRfcJson(TaskEventSchema, json);
  return {
    model,
    error: payload.case === "stateChange" ? payload.value.error : "",
  };
}

/**
 * Returns a message as a view shows it. Without the extension, its parts and
 * metadata are removed.
 */
function inView({ metadata, ...message }: Message, view: StreamView): Message {
  if (view === "extension") return { ...message, metadata };
  const foreign = foreignMetadata(metadata);
  const parts = message.parts.filter(({ content }) =>
    PLAIN_PARTS.has(content.case),
  );
  return { ...message, parts, metadata: foreign };
}

const PLAIN_PARTS: ReadonlySet<string | undefined> = new Set([
  "text",
  "file",
  "data",
  "dataValue",
]);

function statusOf(state: TaskState, time: Timestamp | undefined): TaskStatus {
  const timestamp = time ? timestampDate(time).toISOString() : "";
  return create(TaskStatusSchema, { state: encodeState(state), timestamp });
}

/**
 * Returns the message of a status: the text that explains it, and the open
 * question. Undefined if there is neither.
 *
 * Clients without the extension get the question in words (CARD-3).
 */
function statusMessage(
  task: Task,
  view: StreamView,
  question: Message | undefined,
): A2aMessage | undefined {
  const { id, contextId, sequence, stateText, error } = task;
  const asked =
    view === "plain" && isInterrupted(task.state) ? awaitedToolCalls(task) : [];
  const text =
    view === "plain"
      ? stateInWords([error, stateText], asked)
      : stateText || error;
  const textParts =
    text === ""
      ? []
      : [create(PartSchema, { content: { case: "text", value: text } })];
  const parts = [...textParts, ...(question?.parts ?? [])];
  if (parts.length === 0) return undefined;
  const messageId = question?.messageId ?? `${id}:${sequence}`;
  const kind = question ? Kind.TOOL_CALL_UPDATE : Kind.STATE_CHANGE;
  const message = create(MessageSchema, { messageId, role: Role.AGENT, parts });
  return encodeMessage(message, view === "plain" ? NO_KIND : kind, {
    taskId: id,
    contextId,
  });
}

/**
 * Encodes the metadata of a task: the RFC's settings under its URI, and under
 * ours the model, the error, the queued messages and the sequence of the last
 * event, for which a Task has no fields.
 */
function taskMetadata(task: Task): JsonObject {
  const { model, error, queuedMessages, sequence } = task;
  const metadata = settingsMetadata(task);
  if (model !== "" || error !== "") {
    const failure = {
      case: "stateChange",
      value: create(StateChangeSchema, { error }),
    } as const;
    const event = create(TaskEventSchema, {
      model,
      payload: error === "" ? { case: undefined } : failure,
    });
    metadata[TASK_EVENT_URI] = toJson(TaskEventSchema, event);
  }
  if (queuedMessages.length > 0) {
    metadata[TASK_URI] = toJson(
      TaskSchema,
      create(TaskSchema, { queuedMessages }),
    );
  }
  if (sequence > 0n) metadata[SEQUENCE_URI] = String(sequence);
  return metadata;
}

/** Decodes the queued messages in the `metadata` of a task (STREAM-8). */
export function decodeQueue(metadata: JsonObject | undefined): QueuedMessage[] {
  const json = metadata?.[TASK_URI];
  return isObject(json) ? decodeRfcJson(TaskSchema, json).queuedMessages : [];
}

/** Encodes the settings of a session as a `metadata` field (META-1). */
export function settingsMetadata({
  settings,
  sessionSettings,
}: Pick<TaskCreated, "settings" | "sessionSettings">): JsonObject {
  // Empty objects are omitted: the Java SDK for 0.3 cannot read them over
  // HTTP+JSON.
  const entries = [
    [
      EXTENSION_URI,
      settings ? encodeRfcJson(AgentSettingsSchema, settings) : {},
    ] as const,
    [
      SESSION_SETTINGS_URI,
      sessionSettings
        ? encodeRfcJson(SessionSettingsSchema, sessionSettings)
        : {},
    ] as const,
  ];
  return Object.fromEntries(
    entries.filter(([, json]) => Object.keys(json).length > 0),
  );
}

/**
 * Returns an object with the `metadata` field, which is absent if it would be
 * empty.
 */
export function metadataField(metadata: JsonObject): {
  readonly metadata?: JsonObject;
} {
  return Object.keys(metadata).length === 0 ? {} : { metadata };
}

/**
 * Decodes the settings of a session in a `metadata` field. Absent settings stay
 * absent.
 */
export function decodeSettings(
  metadata: JsonObject | undefined,
): Pick<TaskCreated, "settings" | "sessionSettings"> {
  const settings = extensionMetadata(metadata);
  const session = sessionMetadata(metadata);
  return defined({
    settings: settings && decodeRfcJson(AgentSettingsSchema, settings),
    sessionSettings: session && decodeRfcJson(SessionSettingsSchema, session),
  });
}

/**
 * Decodes an RFC 3339 time. Undefined if a peer sends none or an invalid one.
 */
export function decodeTime(timestamp = ""): Timestamp | undefined {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? undefined : timestampFromDate(date);
}
