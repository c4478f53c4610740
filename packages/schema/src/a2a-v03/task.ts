import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import {
  type Timestamp,
  timestampDate,
  timestampFromDate,
} from "@bufbuild/protobuf/wkt";
import type { StreamView } from "../extension.ts";
import {
  type Message as A2aMessage,
  type Task as A2aTask,
  TaskSchema as A2aTaskSchema,
  type TaskStatus,
  TaskStatusSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { DevelopmentToolEvent_DevelopmentToolEventKind as Kind } from "../gen/devtool/a2a/v1alpha/event_pb.ts";
import {
  type TaskCreated,
  TaskCreatedSchema,
  type TaskEvent,
  TaskEventSchema,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import {
  type Artifact,
  type Message,
  MessageSchema,
  PartSchema,
  Role,
  type Task,
  TaskSchema,
  TaskState,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { isPlainPart } from "../plain-part.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { isInterrupted } from "../task-state.ts";
import { awaitedToolCalls } from "../tool-call.ts";
import { answerArtifact } from "../turn-answer.ts";
import { quote, WireError } from "../wire-error.ts";
import { artifactEnvelope, decodeArtifact } from "./artifact.ts";
import {
  mergeSteps,
  splitQuestion,
  withModels,
  withQuestion,
} from "./history.ts";
import {
  decodeMessage,
  encodeHistoryMessage,
  encodeMessage,
} from "./message.ts";
import { foreignMetadata } from "./metadata.ts";
import { stateInWords } from "./plain-text.ts";
import { decodeState, encodeState } from "./state.ts";
import {
  decodeAnswering,
  decodeOwnFields,
  decodeSequence,
  decodeSettings,
  metadataField,
  settingsMetadata,
  taskMetadata,
} from "./task-metadata.ts";

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
  /**
   * The answer of the turn that the task completed, for a task with a part of
   * its history. Only the plain view has it. Default: that of the history.
   */
  readonly answer?: Artifact | undefined;
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
  { historyLength, view = "extension", ...given }: EncodeTaskOptions,
): A2aTask {
  const place = { taskId: task.id, contextId: task.contextId };
  const { rest, question } =
    view === "extension"
      ? splitQuestion(withModels(task))
      : { rest: task.history };
  const messages = rest
    .map((message) => inView(message, view))
    .filter(({ parts }) => parts.length > 0);
  const history = messages.flatMap((message) =>
    view === "extension"
      ? encodeHistoryMessage(message, place)
      : [encodeMessage(message, NO_KIND, place)],
  );
  const answer =
    view === "plain" && task.state === TaskState.COMPLETED
      ? (given.answer ?? answerArtifact(task))
      : undefined;
  // An answer has the agent's closing words.
  const message = answer ? undefined : statusMessage(task, view, question);
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
    artifacts: [...task.artifacts, ...(answer ? [answer] : [])].map(
      artifactEnvelope,
    ),
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
    sequence: decodeSequence(task.metadata),
    ...decodeOwnFields(task.metadata),
    ...decodeSettings(task.metadata),
    updateTime: decodeTime(task.status?.timestamp),
  });
}

/**
 * Returns a message as a view shows it. Without the extension, its parts and
 * metadata are removed.
 */
function inView({ metadata, ...message }: Message, view: StreamView): Message {
  if (view === "extension") return { ...message, metadata };
  const foreign = foreignMetadata(metadata);
  const parts = message.parts.filter(isPlainPart);
  return { ...message, parts, metadata: foreign };
}

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
  const { id, contextId, sequence, stateText, error, model } = task;
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
  const role = Role.AGENT;
  const message = create(MessageSchema, { messageId, role, model, parts });
  return encodeMessage(message, view === "plain" ? NO_KIND : kind, {
    taskId: id,
    contextId,
  });
}

/**
 * Decodes an RFC 3339 time. Undefined if a peer sends none or an invalid one.
 */
export function decodeTime(timestamp = ""): Timestamp | undefined {
  const date = new Date(timestamp);
  return Number.isNaN(date.getTime()) ? undefined : timestampFromDate(date);
}
