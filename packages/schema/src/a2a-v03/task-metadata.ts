import { create, type JsonObject, toJson } from "@bufbuild/protobuf";
import { defined, isObject } from "@devtool/internal/json";
import {
  EXTENSION_URI,
  SEQUENCE_URI,
  SESSION_SETTINGS_URI,
  TASK_EVENT_URI,
  TASK_URI,
} from "../extension.ts";
import { AgentSettingsSchema } from "../gen/devtool/a2a/v1alpha/settings_pb.ts";
import { SessionSettingsSchema } from "../gen/devtool/v1alpha/session_settings_pb.ts";
import {
  StateChangeSchema,
  type TaskCreated,
  TaskEventSchema,
} from "../gen/devtool/v1alpha/task_event_pb.ts";
import { type Task, TaskSchema } from "../gen/devtool/v1alpha/task_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { decodeEventMetadata } from "./message.ts";
import {
  extensionMetadata,
  sessionMetadata,
  taskEventMetadata,
} from "./metadata.ts";

/**
 * Encodes the metadata of a task: the RFC's settings under its URI, and under
 * ours the model, the error, the queued messages, what the session can use, the
 * goal and the sequence of the last event, for which a Task has no fields.
 */
export function taskMetadata(task: Task): JsonObject {
  const { model, error, sequence } = task;
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
  const own = toJson(TaskSchema, create(TaskSchema, ownFields(task)));
  if (isObject(own) && Object.keys(own).length > 0) metadata[TASK_URI] = own;
  if (sequence > 0n) metadata[SEQUENCE_URI] = String(sequence);
  return metadata;
}

/**
 * Finds the model and the error of a task. Earlier servers have them under the
 * extension's URI, among the settings.
 */
export function decodeAnswering(
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
 * Decodes the sequence of the last event that a task includes (STREAM-3); 0 if
 * there is none, as from other agents and earlier servers.
 */
export function decodeSequence(metadata: JsonObject | undefined): bigint {
  const digits = metadata?.[SEQUENCE_URI];
  // 18 digits always fit an int64.
  return typeof digits === "string" && /^\d{1,18}$/.test(digits)
    ? BigInt(digits)
    : 0n;
}

/**
 * Decodes what the `metadata` of a task has beyond A2A: its queued messages
 * (STREAM-8), what its session can use (SESSION-3), and its goal (SESSION-4).
 */
export function decodeOwnFields(metadata: JsonObject | undefined): OwnFields {
  const json = metadata?.[TASK_URI];
  if (!isObject(json)) return { queuedMessages: [] };
  return ownFields(decodeRfcJson(TaskSchema, json));
}

/** The fields of a task that A2A has no place for. */
type OwnFields = Pick<
  Task,
  "queuedMessages" | "sessionTools" | "goal" | "goalProgress" | "workflowRun"
>;

function ownFields(task: Task): OwnFields {
  const { queuedMessages, sessionTools, goal, goalProgress, workflowRun } =
    task;
  return defined({
    queuedMessages,
    sessionTools,
    goal,
    goalProgress,
    workflowRun,
  });
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
