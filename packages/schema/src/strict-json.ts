import type {
  DescField,
  DescMessage,
  JsonObject,
  JsonValue,
  MessageShape,
} from "@bufbuild/protobuf";
import { isObject } from "./json.ts";
import { decodeRfcJson } from "./rfc-json.ts";
import { findField } from "./rfc-json-mistake.ts";
import { quote, WireError } from "./wire-error.ts";

/** Remedies for unknown keys, by key. */
export type Hints = Pick<ReadonlyMap<string, string>, "get">;

/**
 * Decodes a message strictly, for input that decides something: an answer, or
 * what an agent may do.
 *
 * What `decodeRfcJson` ignores is an error here: unknown fields, unknown enum
 * names, null, and a field in both spellings. Throws a `WireError` that names
 * the field.
 */
export function decodeStrictJson<Desc extends DescMessage>(
  schema: Desc,
  json: unknown,
  path: string,
  hints: Hints = NO_HINTS,
): MessageShape<Desc> {
  if (isObject(json)) assertFields(schema, json, path, hints);
  return decodeRfcJson(schema, json, path);
}

const NO_HINTS: Hints = new Map();

function assertFields(
  schema: DescMessage,
  json: JsonObject,
  path: string,
  hints: Hints,
): void {
  if (schema.typeName.startsWith("google.protobuf.")) return;
  const seen = new Set<DescField>();
  for (const [key, value] of Object.entries(json)) {
    const at = path === "" ? key : `${path}.${key}`;
    const field = findField(schema, key);
    if (!field) {
      const known = `the fields here are ${schema.fields.map(({ jsonName }) => jsonName).join(", ")}`;
      throw new WireError(at, "", `is unknown: ${hints.get(key) ?? known}`);
    }
    if (seen.has(field)) {
      throw new WireError(
        at,
        "",
        `is given twice, also as ${field.name}: send it once`,
      );
    }
    seen.add(field);
    if (value === null) {
      throw new WireError(at, "", "is null: leave it out, or give it a value");
    }
    assertValue(field, value, at, hints);
  }
}

function assertValue(
  field: DescField,
  value: JsonValue,
  path: string,
  hints: Hints,
): void {
  const schema = field.message;
  const items = Array.isArray(value) ? value : [];
  if (field.enum && (typeof value === "string" || typeof value === "number")) {
    const { values } = field.enum;
    const isKnown = values.some(
      ({ name, number }) => value === name || value === number,
    );
    if (!isKnown) {
      throw new WireError(
        path,
        quote(value),
        `is not one of ${values.map(({ name }) => name).join(", ")}`,
      );
    }
  }
  if (!schema) return;
  if (field.fieldKind === "message" && isObject(value)) {
    assertFields(schema, value, path, hints);
  }
  for (const [index, item] of items.entries()) {
    if (isObject(item)) assertFields(schema, item, `${path}[${index}]`, hints);
  }
  if (field.fieldKind !== "map" || !isObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (isObject(item)) assertFields(schema, item, `${path}.${key}`, hints);
  }
}
