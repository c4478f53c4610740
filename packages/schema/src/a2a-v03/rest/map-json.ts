import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";

/**
 * Applies a function to an object. Returns any other value unchanged, for the
 * decoder of the message to refuse.
 */
export function mapObject(
  value: JsonValue,
  map: (object: JsonObject) => JsonValue,
): JsonValue {
  return isObject(value) ? map(value) : value;
}

/**
 * Applies a function to each item of a list. Returns any other value unchanged,
 * for the decoder to refuse.
 */
export function mapList(
  value: JsonValue,
  map: (item: JsonValue) => JsonValue,
): JsonValue {
  return Array.isArray(value) ? value.map(map) : value;
}
