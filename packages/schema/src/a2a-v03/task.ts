import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { EXTENSION_URI, SESSION_SETTINGS_URI } from "../extension.ts";
import {
  type Task as A2aTask,
  TaskSchema as A2aTaskSchema,
  TaskStatusSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import {
  DevelopmentToolEventSchema,
  DevelopmentToolEvent_DevelopmentToolEventKind as Kind,
} from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import { AgentSettingsSchema } from "../gen/devtool/a2a/v1alpha/settings_pb.ts";
import { SessionSettingsSchema } from "../gen/devtool/v1alpha/session_settings_pb.ts";
import {
  type TaskCreated,
  TaskCreatedSchema,
  type TaskEvent,
  TaskEventSchema,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import { type Message, MessageSchema, Role, type Task, TaskSchema } from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { isEnded, toolCallsOf } from "../tool-call.ts";
import { quote, WireError } from "../wire-error.ts";
import { artifactEnvelope, artifactOf } from "./artifact.ts";
import { decodeMessage, encodeMessage, encodeMessageRuns, eventOf } from "./message.ts";
import { extensionMetadata, sessionMetadata } from "./metadata.ts";
import { decodeState, encodeState } from "./state.ts";
import type { StreamView } from "./view.ts";

/** Of messages whose metadata says nothing of the extension. */
const NO_KIND = Kind.DEVELOPMENT_TOOL_EVENT_KIND_UNSPECIFIED;

/** Writes the event that opens a task as the Task it opens. */
export function encodeCreated(event: TaskEvent, created: TaskCreated, view: StreamView): JsonObject {
  return encodeRfcJson(A2aTaskSchema, createdEnvelope(event, created, view));
}

/** The Task that an event opens, in the envelope of A2A. */
export function createdEnvelope(event: TaskEvent, created: TaskCreated, view: StreamView): A2aTask {
  const place = { taskId: event.taskId, contextId: event.contextId };
  const history = created.message ? [encodeMessage(created.message, NO_KIND, place)] : [];
  return create(A2aTaskSchema, {
    kind: "task",
    id: event.taskId,
    contextId: event.contextId,
    status: statusOf(event.state, event.time),
    history,
    ...(view === "extension" && { metadata: settingsMetadata(created) }),
  });
}

/** Reads a Task frame of a stream: the event that opened it, in the state that it is in. */
export function decodeCreated(json: JsonObject, sequence: bigint): TaskEvent {
  return createdOf(decodeRfcJson(A2aTaskSchema, json), sequence);
}

/** The event that a Task, the first frame of a stream, stands for. */
function createdOf(task: A2aTask, sequence: bigint): TaskEvent {
  const [first] = task.history;
  return create(TaskEventSchema, {
    sequence,
    taskId: task.id,
    contextId: task.contextId,
    state: decodeState(task.status?.state ?? ""),
    model: eventOf(task.metadata)?.model ?? "",
    ...timeField("time", task.status?.timestamp),
    payload: {
      case: "created",
      value: create(TaskCreatedSchema, {
        ...decodeSettings(task.metadata),
        ...(first && { message: decodeMessage(first, "result.history[0]") }),
      }),
    },
  });
}

/** What to leave out of a task. */
export interface EncodeTaskOptions {
  /** Keeps the newest so many messages; all when left out. */
  readonly historyLength?: number;
  /** How much to show; all when left out. */
  readonly view?: StreamView;
}

/** Writes a task as A2A 0.3 has it, its conversation as messages. */
export function encodeTask(task: Task, options: EncodeTaskOptions = {}): JsonObject {
  return encodeRfcJson(A2aTaskSchema, taskEnvelope(task, options));
}

/** A task in the envelope of A2A, its conversation as messages and what it made as artifacts. */
export function taskEnvelope(task: Task, { historyLength, view = "extension" }: EncodeTaskOptions): A2aTask {
  const place = { taskId: task.id, contextId: task.contextId };
  const messages = task.history.map((message) => shown(message, view)).filter(({ parts }) => parts.length > 0);
  const history = messages.flatMap((message) =>
    view === "extension" ? encodeMessageRuns(message, place) : [encodeMessage(message, NO_KIND, place)],
  );
  return create(A2aTaskSchema, {
    kind: "task",
    id: task.id,
    contextId: task.contextId,
    status: { ...statusOf(task.state, task.updateTime), ...statusMessage(task, view) },
    history:
      historyLength === undefined ? history : history.slice(history.length - Math.min(historyLength, history.length)),
    artifacts: task.artifacts.map(artifactEnvelope),
    ...(view === "extension" && { metadata: taskMetadata(task) }),
  });
}

/** Reads a task as A2A 0.3 has it. What its JSON does not hold (sequence, principal) is left empty. */
export function decodeTask(json: JsonValue): Task {
  const task = decodeRfcJson(A2aTaskSchema, json);
  if (task.kind !== "task") throw new WireError("kind", quote(task.kind), "is no task");
  return taskOf(task);
}

/** The task that an envelope of A2A holds. */
function taskOf(task: A2aTask): Task {
  const event = eventOf(task.metadata);
  const explained = task.status?.message && decodeMessage(task.status.message, "status.message");
  const content = explained?.parts[0]?.content;
  return create(TaskSchema, {
    id: task.id,
    contextId: task.contextId,
    state: decodeState(task.status?.state ?? ""),
    stateText: content?.case === "text" ? content.value : "",
    error: event?.error ?? "",
    model: event?.model ?? "",
    history: mergeSteps(decodeHistory(task)),
    artifacts: task.artifacts.map((artifact, index) => artifactOf(artifact, `artifacts[${index}]`)),
    ...decodeSettings(task.metadata),
    ...timeField("updateTime", task.status?.timestamp),
  });
}

function decodeHistory(task: A2aTask): Message[] {
  return task.history.map((message, index) => decodeMessage(message, `history[${index}]`));
}

/** Puts the runs of one message, and the pieces of one step of an agent that numbers them otherwise, together again. */
function mergeSteps(messages: readonly Message[]): Message[] {
  const merged: Message[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    if (last && last.role === message.role && (isRunOf(last, message) || isOpenStep(last))) {
      merged[merged.length - 1] = { ...last, parts: [...last.parts, ...message.parts] };
    } else merged.push(message);
  }
  return merged;
}

/** Tells whether a message is a later run of another: its id is that one's with a number. */
function isRunOf({ messageId }: Message, later: Message): boolean {
  return later.messageId.startsWith(`${messageId}#`) && /^#\d+$/.test(later.messageId.slice(messageId.length));
}

function isOpenStep(message: Message): boolean {
  const calls = toolCallsOf(message);
  return message.role === Role.AGENT && !(calls.length > 0 && calls.every(isEnded));
}

function shown(message: Message, view: StreamView): Message {
  if (view === "extension") return message;
  return { ...message, parts: message.parts.filter(({ content }) => PLAIN_PARTS.has(content.case)) };
}

const PLAIN_PARTS: ReadonlySet<string | undefined> = new Set(["text", "file", "data"]);

function statusOf(state: Task["state"], time: Task["updateTime"]): ReturnType<typeof create<typeof TaskStatusSchema>> {
  return create(TaskStatusSchema, {
    state: encodeState(state),
    ...(time && { timestamp: timestampDate(time).toISOString() }),
  });
}

function statusMessage(task: Task, view: StreamView): { message?: ReturnType<typeof encodeMessage> } {
  const text = task.stateText || task.error;
  if (text === "") return {};
  const place = { taskId: task.id, contextId: task.contextId };
  const said = create(MessageSchema, {
    messageId: `${task.id}:${task.sequence}`,
    role: Role.AGENT,
    parts: [{ content: { case: "text", value: text } }],
  });
  return { message: encodeMessage(said, view === "extension" ? Kind.STATE_CHANGE : NO_KIND, place) };
}

/** The RFC's settings stand under its URI; beside them the event that tells model and error. */
function taskMetadata(task: Task): JsonObject {
  const event = create(DevelopmentToolEventSchema, { kind: Kind.STATE_CHANGE, model: task.model, error: task.error });
  const settings = settingsMetadata(task);
  const own = extensionMetadata(settings) ?? {};
  return { ...settings, [EXTENSION_URI]: { ...own, ...encodeRfcJson(DevelopmentToolEventSchema, event) } };
}

/** The settings of a session as a `metadata` field holds them (META-1). */
export function settingsMetadata({
  settings,
  sessionSettings,
}: Pick<TaskCreated, "settings" | "sessionSettings">): JsonObject {
  return {
    ...(settings && { [EXTENSION_URI]: encodeRfcJson(AgentSettingsSchema, settings) }),
    ...(sessionSettings && { [SESSION_SETTINGS_URI]: encodeRfcJson(SessionSettingsSchema, sessionSettings) }),
  };
}

/** Reads the settings of a session off a `metadata` field; each is left out when it is not there. */
export function decodeSettings(metadata: JsonObject | undefined): Pick<TaskCreated, "settings" | "sessionSettings"> {
  const settings = extensionMetadata(metadata);
  const session = sessionMetadata(metadata);
  return {
    ...(settings && { settings: decodeRfcJson(AgentSettingsSchema, settings) }),
    ...(session && { sessionSettings: decodeRfcJson(SessionSettingsSchema, session) }),
  };
}

function timeField<Name extends string>(
  name: Name,
  timestamp: string | undefined,
): Partial<Record<Name, ReturnType<typeof timestampFromDate>>> {
  const date = new Date(timestamp ?? "");
  if (Number.isNaN(date.getTime())) return {};
  const field: Partial<Record<Name, ReturnType<typeof timestampFromDate>>> = {};
  field[name] = timestampFromDate(date);
  return field;
}
