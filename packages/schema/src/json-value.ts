import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Returns whether a JSON value is an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value when it is an object, otherwise an empty one. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** The value when it is a list, otherwise an empty one. */
export function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** An object as it is read; anything else stays what it is, for a schema to refuse. */
export function mapObject(value: JsonValue, read: (object: JsonObject) => JsonValue): JsonValue {
  return isObject(value) ? read(value) : value;
}

/** A list with its items as they are read; anything else stays what it is, for a schema to refuse. */
export function mapList(value: JsonValue, read: (item: JsonValue) => JsonValue): JsonValue {
  return Array.isArray(value) ? value.map(read) : value;
}

/** The value when it is a string, otherwise an empty one. */
export function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}
