import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";

/** The methods of A2A 0.3, by their names in 1.0. */
export const METHODS_03: Readonly<Record<string, string>> = {
  "message/send": "SendMessage",
  "message/stream": "SendStreamingMessage",
  "tasks/get": "GetTask",
  "tasks/cancel": "CancelTask",
  "tasks/resubscribe": "SubscribeToTask",
  "tasks/pushNotificationConfig/set": "CreateTaskPushNotificationConfig",
  "tasks/pushNotificationConfig/get": "GetTaskPushNotificationConfig",
  "tasks/pushNotificationConfig/list": "ListTaskPushNotificationConfigs",
  "tasks/pushNotificationConfig/delete": "DeleteTaskPushNotificationConfig",
  "agent/getAuthenticatedExtendedCard": "GetExtendedAgentCard",
};

const KINDS: Readonly<Record<string, string>> = {
  task: "task",
  message: "message",
  statusUpdate: "status-update",
  artifactUpdate: "artifact-update",
};

/** Writes a frame of A2A 1.0 in the names of 0.3. */
export function frameV03(frame: JsonObject): JsonObject {
  const [[field = "", inner = null] = []] = Object.entries(frame);
  const kind = KINDS[field];
  if (kind === undefined || !isObject(inner)) return frame;
  const { status } = inner;
  const state = isObject(status) ? String(status.state) : "";
  const isLast = !/WORKING|SUBMITTED/.test(state);
  const final = kind === "status-update" ? { final: isLast } : {};
  return { kind, ...fieldsV03(inner), ...final };
}

/** Writes the fields of a task, message or update in the names of 0.3. */
export function fieldsV03(fields: JsonObject): JsonObject {
  const entries = Object.entries(fields).map(([name, value]) => [
    name,
    valueV03(name, value),
  ]);
  return Object.fromEntries(entries);
}

function valueV03(name: string, value: JsonValue): JsonValue {
  if (name === "state" || name === "role") {
    return String(value)
      .replace(/^(?:TASK_STATE|ROLE)_/, "")
      .toLowerCase()
      .replace("_", "-");
  }
  if (Array.isArray(value)) {
    return value.map((item) => {
      if (!isObject(item)) return item;
      if (name === "parts") return { kind: "text", ...item };
      if (name === "history") return { kind: "message", ...fieldsV03(item) };
      return fieldsV03(item);
    });
  }
  return isObject(value) ? fieldsV03(value) : value;
}
