import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { assertBudget, DEFAULT_LIMITS, type JsonLimits, parseJson } from "./json-budget.ts";
import { quote, WireError } from "./wire-error.ts";

/**
 * Reads one of the RFC's messages, or of the A2A envelope, from parsed JSON (JSON-2): field names in snake_case or
 * lowerCamelCase, unknown fields left out, unknown enum names as the zero value, enums also by number. Throws a
 * `WireError` for anything else and past a limit.
 */
export function decodeRfcJson<Desc extends DescMessage>(
  schema: Desc,
  json: unknown,
  limits: JsonLimits = DEFAULT_LIMITS,
): MessageShape<Desc> {
  assertBudget(json, limits);
  if (!isObject(json)) throw new WireError(schema.name, quote(json), "must be a JSON object");
  try {
    return fromJson(schema, withJsonNames(schema, json), { ignoreUnknownFields: true });
  } catch (cause) {
    throw new WireError("", "", reasonOf(cause), { cause });
  }
}

/** Reads one of the RFC's messages from JSON text; bounds its size too. */
export function decodeRfcText<Desc extends DescMessage>(
  schema: Desc,
  text: string,
  limits: JsonLimits = DEFAULT_LIMITS,
): MessageShape<Desc> {
  return decodeRfcJson(schema, parseJson(text, limits), limits);
}

/** Writes one of the RFC's messages as JSON with the RFC's own names (JSON-1). */
export function encodeRfcJson<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc>): JsonObject {
  const json: JsonValue = toJson(schema, message);
  if (isObject(json)) return json;
  throw new WireError(schema.name, "", "is not written as a JSON object");
}

/**
 * Makes the content of a `Struct` from plain data: integers that a double cannot hold become strings (JSON-3), values
 * that JSON has no form for are left out.
 */
export function structFromJson(value: object): JsonObject {
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const json = representable(item);
    return json === undefined ? [] : [[key, json] satisfies [string, JsonValue]];
  });
  return Object.fromEntries(entries);
}

function representable(value: unknown): JsonValue | undefined {
  switch (typeof value) {
    case "bigint":
      return value.toString();
    case "number":
      if (!Number.isFinite(value)) return undefined;
      return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value).toString() : value;
    case "string":
    case "boolean":
      return value;
    case "object":
      if (value === null) return null;
      return Array.isArray(value) ? value.map((item) => representable(item) ?? null) : structFromJson(value);
    default:
      return undefined;
  }
}

/** Gives each key the name that the generated reader knows; goes into messages, never into a `Struct`. */
function withJsonNames(schema: DescMessage, json: JsonObject): JsonObject {
  if (schema.typeName.startsWith("google.protobuf.")) return json;
  const entries = Object.entries(json).map(([key, value]): [string, JsonValue] => {
    const field = fieldNamed(schema, key);
    return field ? [field.jsonName, fieldJson(field, value)] : [key, value];
  });
  return Object.fromEntries(entries);
}

function fieldNamed(schema: DescMessage, key: string): DescField | undefined {
  return schema.fields.find(({ name, jsonName, localName }) => name === key || jsonName === key || localName === key);
}

function fieldJson(field: DescField, value: JsonValue): JsonValue {
  const inner = field.message;
  if (!inner || inner.typeName.startsWith("google.protobuf.")) return value;
  if (field.fieldKind === "list") return Array.isArray(value) ? value.map((item) => messageJson(inner, item)) : value;
  if (field.fieldKind !== "map") return messageJson(inner, value);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, messageJson(inner, item)]));
}

function messageJson(schema: DescMessage, value: JsonValue): JsonValue {
  return isObject(value) ? withJsonNames(schema, value) : value;
}

/** Tells whether a JSON value is an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? quote(cause.message) : "cannot be read";
}
