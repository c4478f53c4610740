import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

// The HTTP+JSON binding of A2A 0.3 has the ProtoJSON of the `a2a.v1` package on the wire, which differs from the JSON of
// its JSON-RPC binding in names and in how it tells variants apart. Both forms are read; ProtoJSON is written.

/** The parameters of `message/send` and `message/stream` from the body of a request, in either form. */
export function messageParamsFromRest(body: JsonObject): JsonObject {
  const { message, request, configuration, ...rest } = body;
  const said = objectOf(message ?? request);
  const unsaid: JsonObject = "content" in said ? PROTO_DEFAULTS : {};
  return {
    ...rest,
    ...((message ?? request) !== undefined && { message: messageFromRest(said) }),
    ...(configuration !== undefined && {
      configuration: { ...unsaid, ...configurationFromRest(objectOf(configuration)) },
    }),
  };
}

/** In ProtoJSON a `false` is left out, so a configuration without `blocking` does not wait. */
const PROTO_DEFAULTS: JsonObject = { blocking: false };

function configurationFromRest(configuration: JsonObject): JsonObject {
  const { pushNotification, push_notification, ...rest } = configuration;
  const push = pushNotification ?? push_notification;
  return {
    ...rest,
    ...(push !== undefined && { pushNotificationConfig: push }),
  };
}

function messageFromRest({ content, parts, role, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    ...(role !== undefined && { role: ROLES_READ.get(role) ?? role }),
    parts: listOf(parts ?? content).map((part) => partFromRest(objectOf(part))),
  };
}

const ROLES_READ: ReadonlyMap<JsonValue, string> = new Map<JsonValue, string>([
  ["ROLE_USER", "user"],
  [1, "user"],
  ["ROLE_AGENT", "agent"],
  [2, "agent"],
]);

function partFromRest(part: JsonObject): JsonObject {
  if ("kind" in part) return part;
  const { text, file, data, ...rest } = part;
  if (text !== undefined) return { ...rest, kind: "text", text };
  if (file !== undefined) return { ...rest, kind: "file", file: fileFromRest(objectOf(file)) };
  return { ...rest, kind: "data", data: objectOf(data).data ?? data ?? null };
}

function fileFromRest(file: JsonObject): JsonObject {
  const { fileWithUri, file_with_uri, fileWithBytes, file_with_bytes, ...rest } = file;
  const uri = fileWithUri ?? file_with_uri;
  const bytes = fileWithBytes ?? file_with_bytes;
  return { ...rest, ...(uri !== undefined && { uri }), ...(bytes !== undefined && { bytes }) };
}

/** The parameters of `tasks/pushNotificationConfig/set`: the config bare, in an envelope, or in an envelope of its own. */
export function pushParamsFromRest(taskId: string, body: JsonObject): JsonObject {
  const inner = objectOf(body.config ?? body);
  const config = objectOf(inner.pushNotificationConfig ?? inner.push_notification_config ?? inner);
  const { name: _name, ...pushNotificationConfig } = config;
  const id = textOf(config.id) || textOf(body.configId ?? body.config_id);
  return { taskId, pushNotificationConfig: { ...pushNotificationConfig, ...(id !== "" && { id }) } };
}

/** A Task in ProtoJSON. */
export function taskToRest(json: JsonValue): JsonObject {
  const { kind: _kind, status, history, artifacts, ...rest } = objectOf(json);
  return {
    ...rest,
    ...(status !== undefined && { status: statusToRest(objectOf(status)) }),
    ...(history !== undefined && { history: listOf(history).map((message) => messageToRest(objectOf(message))) }),
    ...(artifacts !== undefined && { artifacts: listOf(artifacts).map((artifact) => artifactToRest(artifact)) }),
  };
}

/** A frame of a stream, or the answer to a message, in ProtoJSON: the variant is the name of the field. */
export function answerToRest(json: JsonValue): JsonObject {
  const { kind, ...rest } = objectOf(json);
  switch (kind) {
    case "status-update":
      return { statusUpdate: { ...rest, status: statusToRest(objectOf(rest.status)) } };
    case "artifact-update":
      return { artifactUpdate: { ...rest, artifact: artifactToRest(rest.artifact) } };
    case "message":
      return { message: messageToRest(rest) };
    default:
      return { task: taskToRest(json) };
  }
}

/** A push notification config of a task in ProtoJSON, where its name holds both ids. */
export function pushToRest(json: JsonValue): JsonObject {
  const { taskId, pushNotificationConfig } = objectOf(json);
  const config = objectOf(pushNotificationConfig);
  return {
    name: `tasks/${textOf(taskId)}/pushNotificationConfigs/${textOf(config.id)}`,
    pushNotificationConfig: config,
  };
}

function statusToRest({ state, message, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    state: STATES_WRITTEN.get(textOf(state)) ?? "TASK_STATE_UNSPECIFIED",
    ...(message !== undefined && { message: messageToRest(objectOf(message)) }),
  };
}

/** The names of the states in 0.3's proto, which spells one of them its own way. */
const STATES_WRITTEN: ReadonlyMap<string, string> = new Map([
  ["submitted", "TASK_STATE_SUBMITTED"],
  ["working", "TASK_STATE_WORKING"],
  ["completed", "TASK_STATE_COMPLETED"],
  ["failed", "TASK_STATE_FAILED"],
  ["canceled", "TASK_STATE_CANCELLED"],
  ["input-required", "TASK_STATE_INPUT_REQUIRED"],
  ["rejected", "TASK_STATE_REJECTED"],
  ["auth-required", "TASK_STATE_AUTH_REQUIRED"],
]);

/** The proto has no place for the tasks that a message refers to, and strict readers refuse what they do not know. */
function messageToRest({ kind: _kind, referenceTaskIds: _tasks, role, parts, ...rest }: JsonObject): JsonObject {
  return { ...rest, role: role === "agent" ? "ROLE_AGENT" : "ROLE_USER", content: partsToRest(parts) };
}

function artifactToRest(json: JsonValue | undefined): JsonObject {
  const { parts, ...rest } = objectOf(json);
  return { ...rest, parts: partsToRest(parts) };
}

function partsToRest(parts: JsonValue | undefined): JsonObject[] {
  return listOf(parts).map((json) => {
    const { kind: _kind, file, data, ...part } = objectOf(json);
    if (file !== undefined) return { ...part, file: fileToRest(objectOf(file)) };
    return data === undefined ? part : { ...part, data: { data } };
  });
}

function fileToRest({ uri, bytes, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    ...(uri !== undefined && { fileWithUri: uri }),
    ...(bytes !== undefined && { fileWithBytes: bytes }),
  };
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
