import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Tells whether a JSON value is an object. */
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

/** The value when it is a string, otherwise an empty one. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
