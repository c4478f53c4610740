import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { ScalarType } from "@bufbuild/protobuf";
import { WireError } from "@devtool/schema";
import type { HttpBinding } from "./http-rule.ts";

/** What a request of HTTP brings beside its method. */
export interface HttpParts {
  /** The variables of its path. */
  readonly variables: ReadonlyMap<string, string>;
  readonly query: URLSearchParams;
  /** Its body as parsed JSON; undefined when it has none. */
  readonly body: JsonValue | undefined;
}

/**
 * Puts a request together from path, query and body, as `google.api.http` says: the body is the whole or one field,
 * what it does not hold comes from the query, and the path has the last word. Throws a `WireError`.
 */
export function requestJson(schema: DescMessage, binding: HttpBinding, parts: HttpParts): JsonObject {
  const request: JsonObject = bodyJson(schema, binding, parts.body);
  const given = [...(binding.body === "*" ? [] : parts.query), ...parts.variables];
  return given.reduce((json, [path, text]) => withValue(schema, json, { path: path.split("."), text }), request);
}

function bodyJson(schema: DescMessage, { body: holder }: HttpBinding, body: JsonValue | undefined): JsonObject {
  if (holder === "" || body === undefined) return {};
  if (holder !== "*") return { [fieldNamed(schema, holder)?.jsonName ?? holder]: body };
  if (isObject(body)) return byJsonName(schema, body);
  throw new WireError("body", "", "must be a JSON object");
}

/** Names the fields of a body in one way, so that a variable of the path replaces what the body says. */
function byJsonName(schema: DescMessage, body: JsonObject): JsonObject {
  const entries = Object.entries(body).map(([name, value]): [string, JsonValue] => [
    fieldNamed(schema, name)?.jsonName ?? name,
    value,
  ]);
  return Object.fromEntries(entries);
}

interface Given {
  readonly path: readonly string[];
  readonly text: string;
}

/** Sets a field by its path. What names no field is left out, as an unknown field of JSON is. */
function withValue(schema: DescMessage, json: JsonObject, { path, text }: Given): JsonObject {
  const [name = "", ...rest] = path;
  const field = fieldNamed(schema, name);
  if (!field) return json;
  const before = json[field.jsonName];
  if (rest.length > 0) {
    if (field.fieldKind !== "message") return json;
    const inner = withValue(field.message, isObject(before) ? before : {}, { path: rest, text });
    return { ...json, [field.jsonName]: inner };
  }
  if (field.fieldKind !== "list") return { ...json, [field.jsonName]: valueJson(field, text) };
  return { ...json, [field.jsonName]: [...(Array.isArray(before) ? before : []), valueJson(field, text)] };
}

/** The text of a parameter as JSON: numbers, times and enum names are read from strings, but true and false are not. */
function valueJson(field: DescField, text: string): JsonValue {
  if (field.scalar === ScalarType.BOOL) {
    if (text === "true" || text === "false") return text === "true";
    throw new WireError(field.jsonName, text.slice(0, 200), "must be true or false");
  }
  return field.enum && /^-?\d+$/.test(text) ? Number(text) : text;
}

function fieldNamed(schema: DescMessage, name: string): DescField | undefined {
  return schema.fields.find((field) => field.name === name || field.jsonName === name);
}

function isObject(json: JsonValue | undefined): json is JsonObject {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
