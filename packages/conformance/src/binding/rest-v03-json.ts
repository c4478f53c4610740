import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { fieldsOf, itemsOf } from "../json-fields.ts";

// The HTTP+JSON binding of A2A 0.3 has the ProtoJSON of the package `a2a.v1` on the wire: other names than its JSON-RPC
// binding, and other ways to tell variants apart. The cases are in the terms of JSON-RPC, so both directions are here.

/** The body of a message in ProtoJSON. */
export function sendBody({ message, configuration, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    ...(message !== undefined && { message: messageBody(fieldsOf(message)) }),
    ...(configuration !== undefined && { configuration: configurationBody(fieldsOf(configuration)) }),
  };
}

/** ProtoJSON leaves `false` out, so that who wants to wait must say so. */
function configurationBody({ pushNotificationConfig: push, ...rest }: JsonObject): JsonObject {
  return { blocking: true, ...rest, ...(push !== undefined && { pushNotification: push }) };
}

function messageBody({ kind: _kind, role, parts, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    ...(role !== undefined && { role: ROLES.get(role) ?? role }),
    ...(parts !== undefined && { content: itemsOf(parts).map((part) => partBody(fieldsOf(part))) }),
  };
}

const ROLES: ReadonlyMap<JsonValue, string> = new Map<JsonValue, string>([
  ["user", "ROLE_USER"],
  ["agent", "ROLE_AGENT"],
]);

function partBody({ kind: _kind, data, file, ...rest }: JsonObject): JsonObject {
  if (data !== undefined) return { ...rest, data: { data } };
  if (file === undefined) return rest;
  const { uri, bytes, ...about } = fieldsOf(file);
  const content = uri === undefined ? { fileWithBytes: bytes ?? "" } : { fileWithUri: uri };
  return { ...rest, file: { ...about, ...content } };
}

/** A config as it is set. */
export function configBody({ pushNotificationConfig }: JsonObject): JsonObject {
  const { id } = fieldsOf(pushNotificationConfig);
  return { configId: id ?? "", config: { pushNotificationConfig: pushNotificationConfig ?? {} } };
}

/** A task as JSON-RPC has it. */
export function taskResult(json: JsonValue): JsonObject {
  const { status, history, artifacts, ...rest } = fieldsOf(json);
  return {
    kind: "task",
    ...rest,
    ...(status !== undefined && { status: statusResult(fieldsOf(status)) }),
    ...(history !== undefined && { history: itemsOf(history).map(messageResult) }),
    ...(artifacts !== undefined && { artifacts: itemsOf(artifacts).map(artifactResult) }),
  };
}

/** The answer to a message, or a frame of a stream, as JSON-RPC has it; whoever sends its form already keeps it. */
export function answerResult(json: JsonValue): JsonObject {
  const { task, message, msg, statusUpdate, artifactUpdate, ...rest } = fieldsOf(json);
  if (task !== undefined) return taskResult(task);
  if (message !== undefined || msg !== undefined) return messageResult(message ?? msg ?? {});
  if (statusUpdate !== undefined) {
    const { status, ...update } = fieldsOf(statusUpdate);
    return { kind: "status-update", final: false, ...update, status: statusResult(fieldsOf(status)) };
  }
  if (artifactUpdate !== undefined) {
    const { artifact, ...update } = fieldsOf(artifactUpdate);
    return { kind: "artifact-update", ...update, artifact: artifactResult(artifact ?? {}) };
  }
  return rest;
}

/** A push notification config as JSON-RPC has it. */
export function configResult(json: JsonValue): JsonObject {
  const { name, pushNotificationConfig } = fieldsOf(json);
  return { taskId: String(name ?? "").split("/")[1] ?? "", pushNotificationConfig: pushNotificationConfig ?? {} };
}

/** The configs of a task as JSON-RPC has them. */
export function configsResult(json: JsonValue): JsonObject[] {
  return itemsOf(fieldsOf(json).configs).map(configResult);
}

function statusResult({ state, message, update, ...rest }: JsonObject): JsonObject {
  const said = message ?? update;
  return {
    ...rest,
    ...(state !== undefined && { state: STATES.get(state) ?? state }),
    ...(said !== undefined && { message: messageResult(said) }),
  };
}

const STATES: ReadonlyMap<JsonValue, string> = new Map<JsonValue, string>([
  ["TASK_STATE_SUBMITTED", "submitted"],
  ["TASK_STATE_WORKING", "working"],
  ["TASK_STATE_COMPLETED", "completed"],
  ["TASK_STATE_FAILED", "failed"],
  ["TASK_STATE_CANCELLED", "canceled"],
  ["TASK_STATE_INPUT_REQUIRED", "input-required"],
  ["TASK_STATE_REJECTED", "rejected"],
  ["TASK_STATE_AUTH_REQUIRED", "auth-required"],
]);

function messageResult(json: JsonValue): JsonObject {
  const { role, content, parts, ...rest } = fieldsOf(json);
  const shown = itemsOf(content ?? parts).map(partResult);
  return { kind: "message", ...rest, role: role === "ROLE_AGENT" || role === "agent" ? "agent" : "user", parts: shown };
}

function artifactResult(json: JsonValue): JsonObject {
  const { parts, ...rest } = fieldsOf(json);
  return { ...rest, parts: itemsOf(parts).map(partResult) };
}

function partResult(json: JsonValue): JsonObject {
  const { text, data, file, ...rest } = fieldsOf(json);
  if (data !== undefined) return { ...rest, kind: "data", data: fieldsOf(data).data ?? data };
  if (file === undefined) return { ...rest, kind: "text", text: text ?? "" };
  const { fileWithUri: uri, fileWithBytes: bytes, ...about } = fieldsOf(file);
  return { ...rest, kind: "file", file: { ...about, ...(uri === undefined ? { bytes: bytes ?? "" } : { uri }) } };
}
