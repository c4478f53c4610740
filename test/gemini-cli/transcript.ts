import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { type Frame, isObject } from "./raw-client.ts";

/**
 * Returns frames as lines by which two servers can be compared.
 *
 * The lines leave out ids, times, models and descriptions of tools. Growing
 * output is one line, the last. Changes of state in the middle of a turn are
 * left out, since the peer sends some of them more than once.
 */
export function transcriptOf(frames: readonly Frame[]): string[] {
  const lines = frames.flatMap(linesOf);
  return lines.filter(
    (line, index) =>
      !(line.startsWith("output ") && lines[index + 1]?.startsWith("output ")),
  );
}

function linesOf({ result, error }: Frame): string[] {
  if (isObject(error)) return [`error ${String(error.code)}`];
  if (!isObject(result)) return ["nothing"];
  switch (result.kind) {
    case "task":
      return [`task ${stateOf(result)}`];
    case "artifact-update":
      return [`output ${outputOf(result)}`];
    default:
      return updateLines(result);
  }
}

function updateLines(update: JsonObject): string[] {
  const { coderAgent } = objectOf(update.metadata);
  const kind = String(objectOf(coderAgent).kind);
  const parts = listOf(objectOf(objectOf(update.status).message).parts).map(
    objectOf,
  );
  if (kind === "state-change") {
    return update.final === true ? [`end ${stateOf(update)}`] : [];
  }
  return parts.map((part) => `${kind} ${partLine(kind, part)}`);
}

function partLine(kind: string, { text, data }: JsonObject): string {
  if (!isObject(data)) return String(text);
  if (kind === "thought") {
    return `${String(data.subject)}: ${String(data.description)}`;
  }
  const { type } = objectOf(data.confirmationDetails);
  return [objectOf(data.request).name, data.status, type]
    .filter((word) => word !== undefined)
    .join(" ");
}

/**
 * Returns the last output of a call, without the blanks with which a terminal
 * fills its screen.
 */
function outputOf({ artifact }: JsonObject): string {
  const [part] = listOf(objectOf(artifact).parts).map(objectOf);
  const lines = String(part?.text)
    .split("\n")
    .map((line) => line.trimEnd());
  return lines.join("\n").trimEnd().replaceAll("\n", "|");
}

function stateOf({ status }: JsonObject): string {
  return String(objectOf(status).state);
}

/** Returns the ids of the calls that a turn asks about, in order. */
export function askedIn(frames: readonly Frame[]): string[] {
  const updates = frames.map(({ result }) => objectOf(result));
  const parts = updates.flatMap(({ status }) =>
    listOf(objectOf(objectOf(status).message).parts).map(objectOf),
  );
  const asked = parts
    .map(({ data }) => objectOf(data))
    .filter(({ status }) => status === "awaiting_approval");
  return asked.map(({ request }) => String(objectOf(request).callId));
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
