import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, objectOrEmpty } from "@devtool/internal/json";

/**
 * The states in which a task has ended, in lower case.
 */
const TERMINAL: ReadonlySet<string> = new Set([
  "completed",
  "failed",
  "canceled",
  "rejected",
]);

/**
 * One element of a stream, of either version of A2A.
 */
export interface StreamElement {
  /**
   * The field of A2A 1.0 that it is in, or stands for by its `kind`. Empty if it
   * has none.
   */
  readonly name: string;
  readonly body: JsonObject;
  /**
   * The state in it, in lower case and without the prefix of A2A 1.0.
   */
  readonly state: string;
}

/**
 * The fields of a stream's element in A2A 1.0, by their `kind` in A2A 0.3.
 */
export const ELEMENTS: ReadonlyMap<unknown, string> = new Map([
  ["task", "task"],
  ["message", "message"],
  ["status-update", "statusUpdate"],
  ["artifact-update", "artifactUpdate"],
]);

/**
 * Reads an element: the result of JSON-RPC, or what HTTP+JSON sends.
 */
export function readElement(frame: JsonValue): StreamElement {
  const json = objectOrEmpty(frame);
  const [field, inner] = Object.entries(json)[0] ?? [];
  const isWrapped = json.kind === undefined && isObject(inner);
  const body = isWrapped ? inner : json;
  const name = isWrapped ? field : ELEMENTS.get(json.kind);
  const { state } = objectOrEmpty(body.status);
  return {
    name: name ?? "",
    body,
    state: String(state ?? "")
      .replace("TASK_STATE_", "")
      .replace("_", "-")
      .toLowerCase(),
  };
}

/**
 * Returns whether the task of an element has ended.
 */
export function hasEnded({ state, body }: StreamElement): boolean {
  return TERMINAL.has(state) || body.final === true;
}

/**
 * Returns whether nothing needs to follow an event: its task has ended or waits
 * for the client, or it is a message or an error.
 */
export function isStreamEnd(event: JsonValue | undefined): boolean {
  if (event === undefined) return false;
  const { result = event, error } = objectOrEmpty(event);
  const element = readElement(result);
  return (
    error !== undefined ||
    element.name === "message" ||
    element.state === "input-required" ||
    hasEnded(element)
  );
}
