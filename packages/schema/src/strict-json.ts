import type {
  DescField,
  DescMessage,
  JsonObject,
  JsonValue,
  MessageShape,
} from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { decodeRfcJson } from "./rfc-json.ts";
import { findField } from "./rfc-json-mistake.ts";
import { quote, WireError } from "./wire-error.ts";

/** Remedies for unknown keys, by key. */
export type Hints = Pick<ReadonlyMap<string, string>, "get">;

interface StrictOptions {
  /** Default: none. */
  readonly hints?: Hints;
  /**
   * The spelling in which an error lists the known fields: lowerCamelCase for
   * JSON, snake_case (`name`) for files that people write. Default: `jsonName`.
   */
  readonly spelling?: "jsonName" | "name";
}

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
  options: StrictOptions = {},
): MessageShape<Desc> {
  if (isObject(json)) assertFields(schema, json, path, options);
  return decodeRfcJson(schema, json, path);
}

function assertFields(
  schema: DescMessage,
  json: JsonObject,
  path: string,
  options: StrictOptions,
): void {
  if (schema.typeName.startsWith("google.protobuf.")) return;
  const seen = new Map<DescField, string>();
  for (const [key, value] of Object.entries(json)) {
    const at = path === "" ? key : `${path}.${key}`;
    const field = findField(schema, key);
    if (!field) {
      const { hints, spelling = "jsonName" } = options;
      const known = schema.fields.map((field) => field[spelling]).join(", ");
      const remedy = hints?.get(key) ?? `the fields here are ${known}`;
      throw new WireError(at, "", `is unknown: ${remedy}`);
    }
    const other = seen.get(field);
    if (other !== undefined) {
      const problem = `is given twice, also as ${other}: send it once`;
      throw new WireError(at, "", problem);
    }
    seen.set(field, key);
    if (value === null) {
      throw new WireError(at, "", "is null: leave it out, or give it a value");
    }
    assertValue(field, value, at, options);
  }
}

function assertValue(
  field: DescField,
  value: JsonValue,
  path: string,
  options: StrictOptions,
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
    assertFields(schema, value, path, options);
  }
  for (const [index, item] of items.entries()) {
    if (isObject(item)) {
      assertFields(schema, item, `${path}[${index}]`, options);
    }
  }
  if (field.fieldKind !== "map" || !isObject(value)) return;
  for (const [key, item] of Object.entries(value)) {
    if (isObject(item)) assertFields(schema, item, `${path}.${key}`, options);
  }
}
