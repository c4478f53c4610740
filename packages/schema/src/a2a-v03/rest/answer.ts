import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { objectOrEmpty } from "@devtool/internal/json";
import { mapObject } from "./map-json.ts";
import { messageToRest } from "./message.ts";
import {
  agentMessageFromRest,
  artifactFromRest,
  artifactToRest,
  statusFromRest,
  statusToRest,
  taskFromRest,
  taskToRest,
} from "./task.ts";

/**
 * Writes a frame of a stream, or the response to a message, in ProtoJSON, where
 * the name of a field is the variant.
 */
export function answerToRest(json: JsonValue): JsonObject {
  const { kind, ...rest } = objectOrEmpty(json);
  switch (kind) {
    case "status-update":
      return { statusUpdate: { ...rest, status: statusToRest(rest.status) } };
    case "artifact-update":
      return {
        artifactUpdate: { ...rest, artifact: artifactToRest(rest.artifact) },
      };
    case "message":
      return { message: messageToRest(rest) };
    default:
      return { task: taskToRest(json) };
  }
}

/**
 * Reads a frame of a stream, or the response to a message, in either form.
 *
 * The variant is the name of a field, or the `kind` as in JSON-RPC. Anything
 * else is returned unchanged, for the decoder to refuse.
 */
export function answerFromRest(json: JsonValue): JsonValue {
  return mapObject(json, (answer) => {
    const {
      task,
      message,
      msg,
      statusUpdate,
      status_update,
      artifactUpdate,
      artifact_update,
      kind,
    } = answer;
    const status =
      statusUpdate ??
      status_update ??
      (kind === "status-update" ? answer : undefined);
    if (status !== undefined) {
      return mapObject(status, ({ status: changed = {}, ...update }) => {
        return {
          final: false,
          ...update,
          kind: "status-update",
          status: statusFromRest(changed),
        };
      });
    }
    const artifact =
      artifactUpdate ??
      artifact_update ??
      (kind === "artifact-update" ? answer : undefined);
    if (artifact !== undefined) {
      return mapObject(artifact, ({ artifact: changed = {}, ...update }) => {
        return {
          ...update,
          kind: "artifact-update",
          artifact: artifactFromRest(changed),
        };
      });
    }
    const reply = message ?? msg ?? (kind === "message" ? answer : undefined);
    if (reply !== undefined) return agentMessageFromRest(reply);
    const whole = task ?? (kind === "task" ? answer : undefined);
    return whole === undefined ? answer : taskFromRest(whole);
  });
}
