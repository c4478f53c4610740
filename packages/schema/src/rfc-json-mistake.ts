import {
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { keepStart } from "@devtool/internal/cut-text";
import { isObject } from "@devtool/internal/json";
import { keyPath, mistyped, WireError } from "./wire-error.ts";

/**
 * Returns the field with a name in JSON, in either spelling. Undefined if the
 * message has no such field.
 */
export function findField(
  schema: DescMessage,
  key: string,
): DescField | undefined {
  // By far the most frequent spelling.
  if (Object.hasOwn(schema.field, key)) return schema.field[key];
  return schema.fields.find(
    ({ name, jsonName, localName }) =>
      name === key || jsonName === key || localName === key,
  );
}

/** A failed attempt to decode a value. */
interface FailedRead {
  readonly path: string;
  readonly cause: unknown;
  /** Decodes the fields of a message. Throws if it cannot. */
  readonly read: (schema: DescMessage, json: JsonObject) => unknown;
}

/**
 * Finds the field that could not be decoded, by decoding each field alone.
 *
 * The returned error names the field as its sender spelled it; the error of the
 * library names our packages.
 */
export function mistakeIn(
  schema: DescMessage,
  json: JsonObject,
  { path, cause, read }: FailedRead,
): WireError {
  for (const [key, value] of Object.entries(json)) {
    const field = findField(schema, key);
    const failure = (one: JsonValue): unknown =>
      failureOf(() => read(schema, { [key]: one }));
    const reason = field && failure(value);
    if (field && reason) {
      const where = { path: keyPath(path, key), cause: reason, read };
      return mistakeOf(field, value, where, failure);
    }
  }
  const reason =
    cause instanceof Error
      ? keepStart(
          cause.message.replaceAll(/\b(?:[a-z]\w*\.)+(?=[A-Z])/g, ""),
          200,
        )
      : "the JSON cannot be read";
  return new WireError(path, "", `cannot be read: ${reason}`, {
    cause,
    sentence: path === "" ? reason : undefined,
  });
}

function mistakeOf(
  field: DescField,
  value: JsonValue,
  where: FailedRead,
  failure: (value: JsonValue) => unknown,
): WireError {
  const { path, cause } = where;
  if (field.fieldKind === "list" && Array.isArray(value)) {
    const index = value.findIndex((item) => failure([item]));
    const at = { ...where, path: `${path}[${index}]` };
    if (index >= 0) return elementMistake(field, value[index] ?? null, at);
  }
  if (field.fieldKind === "map" && isObject(value)) {
    const found = Object.entries(value).find(([key, item]) =>
      failure({ [key]: item }),
    );
    const at = { ...where, path: keyPath(path, found?.[0] ?? "") };
    if (found) return elementMistake(field, found[1], at);
  }
  return field.fieldKind === "message"
    ? elementMistake(field, value, where)
    : mistyped(path, value, describeType(field), cause);
}

/** The mistake in an element of a list or map, or in a message. */
function elementMistake(
  field: DescField,
  value: JsonValue,
  where: FailedRead,
): WireError {
  const schema = field.message;
  const isOurs = schema && !schema.typeName.startsWith("google.protobuf.");
  if (isOurs && isObject(value)) return mistakeIn(schema, value, where);
  return mistyped(where.path, value, describeElement(field), where.cause);
}

function failureOf(read: () => unknown): unknown {
  try {
    read();
    return undefined;
  } catch (reason) {
    return reason;
  }
}

/** The JSON of messages of protobuf itself that are not objects. */
const WELL_KNOWN: Readonly<Record<string, string>> = {
  "google.protobuf.Duration": 'a duration such as "3s"',
  "google.protobuf.Timestamp": 'a time such as "2026-01-31T12:00:00Z"',
  "google.protobuf.Value": "a JSON value",
};

function describeType(field: DescField): string {
  if (field.fieldKind === "list") {
    return `a list of ${field.message ? "objects" : `${scalarName(field.scalar)}s`}`;
  }
  return field.fieldKind === "map" ? "an object" : describeElement(field);
}

function describeElement(field: DescField): string {
  if (field.message) {
    return WELL_KNOWN[field.message.typeName] ?? "an object";
  }
  if (field.enum) {
    return `one of ${field.enum.values.map(({ name }) => name).join(", ")}`;
  }
  const name = scalarName(field.scalar);
  return `${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`;
}

function scalarName(scalar: ScalarType | undefined): string {
  switch (scalar) {
    case ScalarType.STRING:
      return "string";
    case ScalarType.BOOL:
      return "boolean";
    case ScalarType.BYTES:
      return "base64 string";
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return "number";
    default:
      return "integer";
  }
}
