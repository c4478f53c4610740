import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { isObject } from "../json.ts";
import { WireError } from "../wire-error.ts";
import { type HttpBinding, httpBindingsOf } from "./http-rule.ts";

/** What a request of HTTP brings beside its method. */
export interface HttpParts {
  /** The variables of its path. */
  readonly variables: ReadonlyMap<string, string>;
  /** The parameters of its query, in order. */
  readonly query: Iterable<readonly [string, string]>;
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

/** A request of HTTP, as a client sends it. */
export interface HttpCall {
  readonly httpMethod: string;
  /** Its path, and its query where it has one; to be put behind the address of the interface. */
  readonly path: string;
  /** What its body holds; undefined when it has none. */
  readonly body: JsonValue | undefined;
}

/**
 * Takes a request apart into path, query and body, as `google.api.http` says; of the ways in which a method is called,
 * it is the one whose path takes most of what the request holds. Throws a `WireError` when the path lacks a value.
 */
export function httpCallOf(method: DescMethod, request: JsonObject): HttpCall {
  const { input } = method;
  const bindings = httpBindingsOf(method).filter(({ variables }) =>
    variables.every((name) => holds(input, request, name)),
  );
  const [binding] = bindings.toSorted((a, b) => b.variables.length - a.variables.length);
  if (!binding) throw new WireError(method.name, "", "lacks what its path names: give the ids");
  const rest = { ...request };
  for (const name of binding.variables) delete rest[jsonNameOf(input, name)];
  const path = binding.fill((name) => textOf(request[jsonNameOf(input, name)]));
  if (binding.body !== "") return { httpMethod: binding.httpMethod, path, body: rest };
  const query = Object.entries(rest).map(([name, value]) => `${name}=${encodeURIComponent(textOf(value))}`);
  return {
    httpMethod: binding.httpMethod,
    path: query.length === 0 ? path : `${path}?${query.join("&")}`,
    body: undefined,
  };
}

function holds(schema: DescMessage, request: JsonObject, name: string): boolean {
  return textOf(request[jsonNameOf(schema, name)]) !== "";
}

function jsonNameOf(schema: DescMessage, name: string): string {
  return fieldNamed(schema, name)?.jsonName ?? name;
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "object" || value === undefined ? "" : String(value);
}
