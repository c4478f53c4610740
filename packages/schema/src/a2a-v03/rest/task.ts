import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  defined,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { mapList, mapObject } from "./map-json.ts";
import {
  messageFromRest,
  messageToRest,
  partsFromRest,
  partsToRest,
} from "./message.ts";

/** Writes a task in ProtoJSON. */
export function taskToRest(json: JsonValue): JsonObject {
  const {
    kind: _kind,
    status,
    history,
    artifacts,
    ...rest
  } = objectOrEmpty(json);
  return defined({
    ...rest,
    status: status === undefined ? undefined : statusToRest(status),
    history:
      history === undefined
        ? undefined
        : listOrEmpty(history).map(messageToRest),
    artifacts:
      artifacts === undefined
        ? undefined
        : listOrEmpty(artifacts).map(artifactToRest),
  });
}

/** Reads a task in either form. */
export function taskFromRest(json: JsonValue): JsonValue {
  return mapObject(json, ({ status, history, artifacts, ...rest }) =>
    defined({
      ...rest,
      kind: "task",
      status: status === undefined ? undefined : statusFromRest(status),
      history:
        history === undefined
          ? undefined
          : mapList(history, agentMessageFromRest),
      artifacts:
        artifacts === undefined
          ? undefined
          : mapList(artifacts, artifactFromRest),
    }),
  );
}

/** Writes a status in ProtoJSON. */
export function statusToRest(json: JsonValue | undefined): JsonObject {
  const { state, message, ...rest } = objectOrEmpty(json);
  return defined({
    ...rest,
    state: STATES_WRITTEN.get(stringOrEmpty(state)) ?? "TASK_STATE_UNSPECIFIED",
    message: message === undefined ? undefined : messageToRest(message),
  });
}

/** Reads a status in either form. The proto calls its message `update`. */
export function statusFromRest(json: JsonValue): JsonValue {
  return mapObject(json, ({ state = 0, message, update, ...rest }) => {
    const given = message ?? update;
    return defined({
      ...rest,
      state: STATES_READ.get(state) ?? state,
      message: given === undefined ? undefined : agentMessageFromRest(given),
    });
  });
}

/** Writes an artifact in ProtoJSON. */
export function artifactToRest(json: JsonValue | undefined): JsonObject {
  const { parts, ...rest } = objectOrEmpty(json);
  return { ...rest, parts: partsToRest(parts) };
}

/** Reads an artifact in either form. */
export function artifactFromRest(json: JsonValue): JsonValue {
  return mapObject(json, ({ parts = [], ...rest }) => ({
    ...rest,
    parts: partsFromRest(parts),
  }));
}

/** Reads a message of an agent, and adds its `kind`. */
export function agentMessageFromRest(json: JsonValue): JsonValue {
  return mapObject(messageFromRest(json), (message) => ({
    ...message,
    kind: "message",
  }));
}

/**
 * The states, in the order of the proto of A2A 0.3, which spells one of them
 * differently.
 */
const STATES: readonly (readonly [string, string])[] = [
  ["unknown", "TASK_STATE_UNSPECIFIED"],
  ["submitted", "TASK_STATE_SUBMITTED"],
  ["working", "TASK_STATE_WORKING"],
  ["completed", "TASK_STATE_COMPLETED"],
  ["failed", "TASK_STATE_FAILED"],
  ["canceled", "TASK_STATE_CANCELLED"],
  ["input-required", "TASK_STATE_INPUT_REQUIRED"],
  ["rejected", "TASK_STATE_REJECTED"],
  ["auth-required", "TASK_STATE_AUTH_REQUIRED"],
];

const STATES_WRITTEN: ReadonlyMap<string, string> = new Map(STATES);

/** States by name, by number, and by the name that A2A 1.0 uses. */
const STATES_READ: ReadonlyMap<JsonValue, string> = new Map<JsonValue, string>([
  ...STATES.map(([state, name]): [JsonValue, string] => [name, state]),
  ...STATES.map(([state], number): [JsonValue, string] => [number, state]),
  ["TASK_STATE_CANCELED", "canceled"],
]);
