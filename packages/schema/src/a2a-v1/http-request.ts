import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf";
import { keepStart } from "@devtool/internal/cut-text";
import { isObject } from "@devtool/internal/json";
import { findField } from "../rfc-json-mistake.ts";
import { WireError } from "../wire-error.ts";
import { type HttpBinding, httpBindingsOf } from "./http-rule.ts";

/** Parts of an HTTP request besides its method. */
export interface HttpParts {
  /** Variables of the path. */
  readonly variables: ReadonlyMap<string, string>;
  /** Parameters of the query, in order. */
  readonly query: Iterable<readonly [string, string]>;
  /** The body as parsed JSON. Undefined if there is none. */
  readonly body: JsonValue | undefined;
}

/**
 * Builds the JSON of a request from the path, the query and the body, according
 * to `google.api.http`.
 *
 * The body is the whole request or one of its fields; other fields come from
 * the query; the path overrides both. Throws a `WireError`, also for a
 * parameter of the query that is given twice and is not a list.
 */
export function requestJson(
  schema: DescMessage,
  { body: holder }: HttpBinding,
  parts: HttpParts,
): JsonObject {
  const { variables, query, body } = parts;
  let request: JsonObject = {};
  if (body !== undefined && holder === "*") {
    if (!isObject(body)) {
      throw new WireError("body", "", "must be a JSON object");
    }
    // Field names are normalized, so that variables of the path replace them.
    request = Object.fromEntries(
      Object.entries(body).map(([name, value]) => [
        jsonNameOf(schema, name),
        value,
      ]),
    );
  } else if (body !== undefined && holder !== "") {
    request = { [jsonNameOf(schema, holder)]: body };
  }
  const parameters = holder === "*" ? [] : [...query];
  assertOnce(schema, parameters);
  return [...parameters, ...variables].reduce(
    (json, [path, text]) => withValue(schema, json, path.split("."), text),
    request,
  );
}

/**
 * Throws a `WireError` for a field that two parameters set, in either spelling
 * of its name. Lists may have several.
 */
function assertOnce(
  schema: DescMessage,
  parameters: readonly (readonly [string, string])[],
): void {
  const names = new Set<string>();
  for (const [path, text] of parameters) {
    let holder: DescMessage | undefined = schema;
    let field: DescField | undefined;
    const jsonNames = path.split(".").map((name) => {
      field = holder && findField(holder, name);
      holder = field?.message;
      return field?.jsonName;
    });
    if (!field || field.fieldKind === "list") continue;
    const jsonName = jsonNames.join(".");
    if (names.has(jsonName)) {
      throw new WireError(
        jsonName,
        keepStart(text, 200),
        "is given twice: give it once",
      );
    }
    names.add(jsonName);
  }
}

/**
 * Sets the field at a path. A path to no field is ignored, like an unknown
 * field in JSON.
 */
function withValue(
  schema: DescMessage,
  json: JsonObject,
  path: readonly string[],
  text: string,
): JsonObject {
  const [name = "", ...rest] = path;
  const field = findField(schema, name);
  if (!field) return json;
  const before = json[field.jsonName];
  if (rest.length > 0) {
    if (field.fieldKind !== "message") return json;
    const inner = withValue(
      field.message,
      isObject(before) ? before : {},
      rest,
      text,
    );
    return { ...json, [field.jsonName]: inner };
  }
  if (field.fieldKind !== "list") {
    return { ...json, [field.jsonName]: valueJson(field, text) };
  }
  return {
    ...json,
    [field.jsonName]: [
      ...(Array.isArray(before) ? before : []),
      valueJson(field, text),
    ],
  };
}

/**
 * Converts the text of a parameter to JSON. ProtoJSON reads numbers, times and
 * enum names from strings, but not booleans.
 */
function valueJson(field: DescField, text: string): JsonValue {
  if (field.scalar === ScalarType.BOOL) {
    if (text === "true" || text === "false") return text === "true";
    throw new WireError(
      field.jsonName,
      keepStart(text, 200),
      "must be true or false",
    );
  }
  return field.enum && /^-?\d+$/.test(text) ? Number(text) : text;
}

/** An HTTP request as a client sends it. */
export interface HttpCall {
  readonly httpMethod: string;
  /** Path and query, relative to the URL of the interface. */
  readonly path: string;
  /** The body as JSON. Undefined if there is none. */
  readonly body: JsonValue | undefined;
}

/**
 * Splits a request into path, query and body, according to `google.api.http`.
 *
 * Of the bindings of a method, it uses the one whose path takes the most values
 * of the request. Throws a `WireError` if the path lacks a value.
 */
export function httpCallOf(method: DescMethod, request: JsonObject): HttpCall {
  const { input } = method;
  const textIn = (name: string): string =>
    scalarText(request[jsonNameOf(input, name)]);
  const bindings = httpBindingsOf(method).filter(({ variables }) =>
    variables.every((name) => textIn(name) !== ""),
  );
  const [binding] = bindings.toSorted(
    (a, b) => b.variables.length - a.variables.length,
  );
  if (!binding) {
    throw new WireError(
      method.name,
      "",
      "lacks an id of its path: give the ids",
    );
  }
  const rest = { ...request };
  for (const name of binding.variables) delete rest[jsonNameOf(input, name)];
  const path = binding.fill(textIn);
  if (binding.body !== "") {
    return { httpMethod: binding.httpMethod, path, body: rest };
  }
  const query = Object.entries(rest).map(
    ([name, value]) => `${name}=${encodeURIComponent(scalarText(value))}`,
  );
  return {
    httpMethod: binding.httpMethod,
    path: query.length === 0 ? path : `${path}?${query.join("&")}`,
    body: undefined,
  };
}

function jsonNameOf(schema: DescMessage, name: string): string {
  return findField(schema, name)?.jsonName ?? name;
}

/**
 * Returns the text of a string, a number or a boolean. Empty for other values.
 */
function scalarText(value: JsonValue | undefined): string {
  return typeof value === "object" || value === undefined ? "" : String(value);
}
