import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** The fields of a JSON object; none of anything else. */
export function fieldsOf(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

/** The items of a JSON list; none of anything else. */
export function itemsOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}
