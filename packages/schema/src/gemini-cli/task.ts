import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { defined, isObject } from "@devtool/internal/json";
import { artifactEnvelope } from "../a2a-v03/artifact.ts";
import { encodeState } from "../a2a-v03/state.ts";
import { decodeCreated, decodeTask } from "../a2a-v03/task.ts";
import { ArtifactSchema } from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import { TaskMetadataSchema } from "../gen/devtool/coder_agent/v1alpha/stream_pb.ts";
import type {
  TaskCreated,
  TaskEvent,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import {
  type Message,
  Role,
  type Task,
  TaskState,
} from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { encodeGeminiCliPart } from "./part.ts";
import { encodeGeminiCliSettings, settingsFromGeminiCli } from "./settings.ts";

/** Encodes the event that creates a task as a Task. */
export function encodeGeminiCliCreated(
  event: TaskEvent,
  created: TaskCreated,
): JsonObject {
  const { taskId: id, contextId, state, time } = event;
  const history = created.message ? [created.message] : [];
  return taskJson({ id, contextId, state, history, time, ...created });
}

/**
 * Encodes a task. Each part of the agent's messages becomes a message of its
 * own.
 *
 * @param historyLength the maximum number of messages in the history, newest
 * kept. Default: all
 */
export function encodeGeminiCliTask(
  task: Task,
  historyLength?: number,
): JsonObject {
  const { updateTime: time, history } = task;
  const kept =
    historyLength === undefined
      ? history
      : history.slice(history.length - Math.min(historyLength, history.length));
  return taskJson({ ...task, history: kept, time });
}

type Shown = Pick<Task, "id" | "contextId" | "state" | "history"> &
  Pick<TaskCreated, "settings" | "sessionSettings"> & {
    readonly time: TaskEvent["time"];
    readonly error?: string;
    readonly stateText?: string;
    readonly artifacts?: Task["artifacts"];
  };

function taskJson(task: Shown): JsonObject {
  const {
    id,
    contextId,
    time,
    error = "",
    stateText = "",
    artifacts = [],
  } = task;
  const text = [error, stateText].filter((words) => words !== "").join("\n\n");
  const place = {
    messageId: `${id}:state`,
    role: "agent",
    taskId: id,
    contextId,
  };
  const taskState = encodeGeminiCliState(task.state);
  const metadata = create(TaskMetadataSchema, {
    persistedState: { agentSettings: encodeGeminiCliSettings(task), taskState },
    contextId,
  });
  return {
    kind: "task",
    id,
    contextId,
    status: defined({
      state: taskState,
      message:
        text === ""
          ? undefined
          : { kind: "message", ...place, parts: [{ kind: "text", text }] },
      timestamp: time && timestampDate(time).toISOString(),
    }),
    metadata: encodeRfcJson(TaskMetadataSchema, metadata),
    history: task.history.flatMap((message) => messageJson(message, task)),
    artifacts: artifacts.map((artifact) =>
      encodeRfcJson(ArtifactSchema, artifactEnvelope(artifact)),
    ),
  };
}

/**
 * Encodes a message of a task. A user's message stays whole; each part of an
 * agent's message is an update of its own.
 */
function messageJson(
  { messageId, role, parts }: Message,
  { id, contextId }: Pick<Task, "id" | "contextId">,
): JsonObject[] {
  const written = parts.flatMap((part) => encodeGeminiCliPart(part) ?? []);
  if (written.length === 0) return [];
  const ids = { taskId: id, contextId };
  if (role === Role.USER) {
    return [
      { kind: "message", messageId, role: "user", parts: written, ...ids },
    ];
  }
  return written.map((part, index) => ({
    kind: "message",
    messageId: index === 0 ? messageId : `${messageId}#${index}`,
    role: "agent",
    parts: [part],
    ...ids,
  }));
}

/**
 * Decodes the Task frame that starts a stream, as the event that created the
 * task.
 */
export function decodeGeminiCliCreated(
  json: JsonObject,
  sequence: bigint,
): TaskEvent {
  const event = decodeCreated({ ...json, metadata: {} }, sequence);
  if (event.payload.case !== "created") return event;
  return {
    ...event,
    payload: {
      case: "created",
      value: { ...event.payload.value, ...taskSettings(json) },
    },
  };
}

/**
 * Decodes a task. Its history has plain parts only; Gemini CLI's server sends
 * none for a task that is not running.
 */
export function decodeGeminiCliTask(json: JsonValue): Task {
  const task = decodeTask(isObject(json) ? { ...json, metadata: {} } : json);
  return { ...task, ...(isObject(json) && taskSettings(json)) };
}

function taskSettings({
  metadata,
}: JsonObject): Pick<TaskCreated, "settings" | "sessionSettings"> {
  const { persistedState } = decodeRfcJson(
    TaskMetadataSchema,
    isObject(metadata) ? metadata : {},
  );
  return persistedState?.agentSettings
    ? settingsFromGeminiCli(persistedState.agentSettings)
    : {};
}

/**
 * Encodes a state. The dialect has no completed tasks: it is the user's turn
 * then.
 */
export function encodeGeminiCliState(state: TaskState): string {
  return encodeState(
    state === TaskState.COMPLETED ? TaskState.INPUT_REQUIRED : state,
  );
}
