// @devtool/schema/json: small functions on plain JSON that every package needs.
// Adding a name is adding API.
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Returns whether a value is a JSON object: neither null nor a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value if it is a JSON object, otherwise an empty one. */
export function objectOrEmpty(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** Returns the value if it is a list, otherwise an empty one. */
export function listOrEmpty(value: unknown): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the value if it is a string, otherwise an empty one. */
export function stringOrEmpty(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/**
 * Parses JSON text that may be broken; returns undefined if it is not valid
 * JSON.
 *
 * The text is not bounded. What a peer sends goes through `parseJson` of
 * `@devtool/schema`, which limits size, depth and number of values.
 */
export function parseJsonOrUndefined(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Returns a deep copy of a value as plain JSON, as `JSON.stringify` writes it.
 *
 * Dates become strings, fields that are undefined or functions are omitted.
 * Throws a `TypeError` for a `bigint` and for an object that contains itself.
 */
export function plainJson(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value));
}

/**
 * Encodes JSON in its canonical form (RFC 8785), for digests, signatures and
 * comparison.
 *
 * Names are sorted by their UTF-16 code units, and there is no white space.
 * Equal values give equal text, whatever the order in which their fields were
 * set.
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] ?? null)}`).join(",")}}`;
}

/**
 * The type of an object without the fields that are undefined: those that may
 * be undefined become optional.
 */
export type Defined<T extends object> = {
  [Name in keyof T]?: Exclude<T[Name], undefined>;
} & {
  [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name];
};

/**
 * Returns a copy of an object without the fields that are undefined. Other
 * empty values (`""`, 0, false, null) stay.
 *
 * Under `exactOptionalPropertyTypes`, an optional field may be absent but not
 * undefined. With this function an object can name all its fields in one place:
 *
 * ```ts
 * const options: FetchOptions = defined({ url, timeoutMs: settings?.timeoutMs });
 * ```
 *
 * The initial value of a message needs it for optional scalars and enums only:
 * `create` takes undefined for fields that are messages.
 */
export function defined<T extends object>(fields: T): Defined<T>;
export function defined(fields: Readonly<Record<string, unknown>>): object {
  const copy: Record<string, unknown> = {};
  for (const name in fields) {
    if (fields[name] !== undefined) copy[name] = fields[name];
  }
  return copy;
}

/**
 * Parses the body of an error response: a JSON object, or a list whose first
 * item is one. Empty for anything else.
 */
export function readErrorBody(text: string): JsonObject {
  const body = parseJsonOrUndefined(text);
  return objectOrEmpty(Array.isArray(body) ? body[0] : body);
}
