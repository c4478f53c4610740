import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, objectOrEmpty } from "@devtool/internal/json";

/** Methods of A2A by their names in 1.0: those in 0.3. */
const METHODS: Readonly<Record<string, string>> = {
  SendMessage: "message/send",
  SendStreamingMessage: "message/stream",
  GetTask: "tasks/get",
  CancelTask: "tasks/cancel",
  SubscribeToTask: "tasks/resubscribe",
};

/** Methods whose result is a task, and not one of several messages. */
const GIVE_A_TASK: readonly unknown[] = ["GetTask", "CancelTask"];

/** What an answer or a frame of 1.0 is in: its `kind` in 0.3. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ["task", "task"],
  ["message", "message"],
  ["statusUpdate", "status-update"],
  ["artifactUpdate", "artifact-update"],
]);

/**
 * Writes a case in the names of A2A 0.3: methods, headers, states and roles,
 * `kind` in place of the field that an answer is in, and the fields of an error
 * in place of its details.
 */
export function caseV03(one: JsonObject): JsonObject {
  const steps = (Array.isArray(one.steps) ? one.steps : []).map(objectOrEmpty);
  // A2A 0.3 has no list of tasks.
  const known = steps.filter(({ method }) => method !== "ListTasks");
  return { ...one, steps: known.map(stepV03) };
}

function stepV03(step: JsonObject): JsonObject {
  const { method } = step;
  return mapFields(step, (name, value) => {
    switch (name) {
      case "method":
        return METHODS[String(value)] ?? value;
      case "params":
        return paramsV03(value);
      case "headers":
        return headersV03(value);
      case "capture":
        return mapFields(value, (_name, place) => placeV03(String(place)));
      case "expect":
        return expectationV03(value, method);
      case "reading":
        return mapFields(value, (field, inner) =>
          field === "expect" ? expectationV03(inner, method) : inner,
        );
      default:
        return value;
    }
  });
}

function paramsV03(params: JsonValue): JsonValue {
  return mapFields(params, (name, value) => {
    if (name === "message") return ofKind("message", value);
    return name === "configuration" ? configurationV03(value) : value;
  });
}

function configurationV03(configuration: JsonValue): JsonValue {
  const { returnImmediately, ...others } = objectOrEmpty(configuration);
  return returnImmediately === undefined
    ? others
    : { ...others, blocking: returnImmediately !== true };
}

function expectationV03(
  expect: JsonValue,
  method: JsonValue | undefined,
): JsonValue {
  return mapFields(expect, (name, value) => {
    switch (name) {
      case "result":
        return GIVE_A_TASK.includes(method)
          ? ofKind("task", value)
          : answerV03(value);
      case "frames":
      case "noFrames":
        return Array.isArray(value) ? value.map(answerV03) : value;
      case "firstFrame":
      case "lastFrame":
        return answerV03(value);
      case "headers":
        return headersV03(value);
      case "errorData":
        return errorDataV03(value);
      default:
        return value;
    }
  });
}

/** An answer or a frame: what 1.0 names by a field has a `kind` in 0.3. */
function answerV03(answer: JsonValue): JsonValue {
  const [[field = "", inner = null] = [], ...others] = Object.entries(
    objectOrEmpty(answer),
  );
  const kind = others.length === 0 ? KINDS.get(field) : undefined;
  return kind === undefined ? valueV03(answer) : ofKind(kind, inner);
}

function ofKind(kind: string, value: JsonValue): JsonValue {
  if (value === "<any>") return { kind };
  return isObject(value) ? { kind, ...objectOrEmpty(valueV03(value)) } : value;
}

function valueV03(value: JsonValue): JsonValue {
  if (typeof value === "string") return wordV03(value);
  if (Array.isArray(value)) return value.map(valueV03);
  if (!isObject(value)) return value;
  return mapFields(value, (name, inner) => {
    if (name === "metadata" || name === "data" || name === "text") return inner;
    return name === "parts" ? partsV03(inner) : valueV03(inner);
  });
}

/** States and roles, also several in a placeholder such as `<one:A|B>`. */
function wordV03(text: string): string {
  return text.replaceAll(
    /(?:TASK_STATE|ROLE)_([A-Z_]+)/g,
    (_all, word: string) => word.toLowerCase().replaceAll("_", "-"),
  );
}

function partsV03(parts: JsonValue): JsonValue {
  if (Array.isArray(parts)) return parts.map(partV03);
  return isObject(parts)
    ? mapFields(parts, (_name, inner) => partsV03(inner))
    : parts;
}

function partV03(part: JsonValue): JsonValue {
  if (!isObject(part)) return part;
  const kind = ["text", "data"].find((name) => name in part);
  return kind === undefined ? part : { kind, ...part };
}

/** Of an error, 0.3 has the fields of the detail that names the field. */
function errorDataV03(data: JsonValue): JsonValue {
  const [detail] = Object.values(objectOrEmpty(data)).flat();
  const { fieldViolations } = objectOrEmpty(detail);
  const [violation] = Array.isArray(fieldViolations) ? fieldViolations : [];
  return violation ?? data;
}

function headersV03(headers: JsonValue): JsonValue {
  const named = Object.entries(objectOrEmpty(headers));
  return Object.fromEntries(
    named
      .filter(([name]) => name !== "a2a-version")
      .map(([name, value]) => [name.replace(/^a2a-/, "x-a2a-"), value]),
  );
}

/** A place in an answer: 0.3 has no field around it. */
function placeV03(place: string): string {
  const [field = "", ...keys] = place.split(".");
  return keys.length > 0 && KINDS.has(field) ? keys.join(".") : place;
}

/** The fields of an object with other values. */
function mapFields(
  object: JsonValue,
  map: (name: string, value: JsonValue) => JsonValue,
): JsonObject {
  return Object.fromEntries(
    Object.entries(objectOrEmpty(object)).map(([name, value]) => [
      name,
      map(name, value),
    ]),
  );
}
