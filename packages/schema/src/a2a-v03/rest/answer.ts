import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { objectOrEmpty } from "../../json.ts";
import { mapObject } from "./map-json.ts";
import { messageToRest } from "./message.ts";
import {
  artifactFromRest,
  artifactToRest,
  spokenFromRest,
  statusFromRest,
  statusToRest,
  taskFromRest,
  taskToRest,
} from "./task.ts";

/** Writes a frame of a stream, or the response to a message, in ProtoJSON, where the name of a field is the variant. */
export function answerToRest(json: JsonValue): JsonObject {
  const { kind, ...rest } = objectOrEmpty(json);
  switch (kind) {
    case "status-update":
      return { statusUpdate: { ...rest, status: statusToRest(rest.status) } };
    case "artifact-update":
      return { artifactUpdate: { ...rest, artifact: artifactToRest(rest.artifact) } };
    case "message":
      return { message: messageToRest(rest) };
    default:
      return { task: taskToRest(json) };
  }
}

/**
 * Reads a frame of a stream, or the response to a message, in either form.
 *
 * The variant is the name of a field, or the `kind` as in JSON-RPC. Anything else is returned unchanged, for the
 * decoder to refuse.
 */
export function answerFromRest(json: JsonValue): JsonValue {
  return mapObject(json, variantFromRest);
}

function variantFromRest(answer: JsonObject): JsonValue {
  const { task, message, msg, statusUpdate, status_update, artifactUpdate, artifact_update } = answer;
  const [update, artifact, said] = [statusUpdate ?? status_update, artifactUpdate ?? artifact_update, message ?? msg];
  if (update !== undefined || answer.kind === "status-update") return mapObject(update ?? answer, updateFromRest);
  if (artifact !== undefined || answer.kind === "artifact-update") return mapObject(artifact ?? answer, pieceFromRest);
  if (said !== undefined || answer.kind === "message") return spokenFromRest(said ?? answer);
  if (task !== undefined || answer.kind === "task") return taskFromRest(task ?? answer);
  return answer;
}

function updateFromRest({ status = {}, ...update }: JsonObject): JsonObject {
  return { final: false, ...update, kind: "status-update", status: statusFromRest(status) };
}

function pieceFromRest({ artifact = {}, ...update }: JsonObject): JsonObject {
  return { ...update, kind: "artifact-update", artifact: artifactFromRest(artifact) };
}
