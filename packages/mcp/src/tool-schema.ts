import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { showJson } from "./message-problem.ts";

/** A JSON Schema that every model API accepts, and what was ignored for it. */
export interface ToolSchema {
  readonly schema: JsonObject;
  /** Each part that was ignored, with the reason: `properties.a.type: …`. */
  readonly ignored: readonly string[];
}

const TYPES: ReadonlySet<JsonValue> = new Set([
  "string",
  "number",
  "integer",
  "boolean",
  "object",
  "array",
  "null",
]);

const isText = (value: JsonValue): boolean => typeof value === "string";
const isNumber = (value: JsonValue): boolean => typeof value === "number";
const isListOfText = (value: JsonValue): boolean =>
  Array.isArray(value) && value.every(isText);

/** The keywords whose value is not a schema, and the values that they may have. */
const PLAIN: ReadonlyMap<string, (value: JsonValue) => boolean> = new Map([
  [
    "type",
    (value: JsonValue) => {
      const types = Array.isArray(value) ? value : [value];
      return types.length > 0 && types.every((one) => TYPES.has(one));
    },
  ],
  ["required", isListOfText],
  ["enum", Array.isArray],
  ...["title", "description", "format", "pattern", "$comment"].map(
    (name) => [name, isText] as const,
  ),
  ...[
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "multipleOf",
  ].map((name) => [name, isNumber] as const),
]);

/** The keywords whose value is a schema. */
const SCHEMA: ReadonlySet<string> = new Set([
  "items",
  "additionalProperties",
  "unevaluatedProperties",
  "contains",
  "propertyNames",
  "not",
  "if",
  "then",
  "else",
]);
/** The keywords whose value is a list of schemas. */
const SCHEMA_LIST: ReadonlySet<string> = new Set([
  "anyOf",
  "oneOf",
  "allOf",
  "prefixItems",
]);
/** The keywords whose value is an object of schemas by name. */
const SCHEMA_MAP: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);

/**
 * Reads the JSON Schema of a tool as a server sends it.
 *
 * Model APIs refuse every request that declares a tool whose schema is not
 * valid. A keyword that is not valid is ignored, and so is a `$ref` to a schema
 * elsewhere or to none: the part then accepts any value. Null is absent.
 */
export function readToolSchema(root: JsonObject): ToolSchema {
  const ignored: string[] = [];

  function readSchema(value: JsonValue, path: string): JsonValue {
    if (typeof value === "boolean") return value;
    if (!isObject(value)) {
      if (value !== null) ignored.push(`${path} is not a schema`);
      return {};
    }
    return Object.fromEntries(
      Object.entries(value).flatMap(([keyword, below]): Entry[] => {
        const kept = readKeyword(keyword, below, `${path}.${keyword}`);
        return kept === undefined ? [] : [[keyword, kept]];
      }),
    );
  }

  /** Returns the value of a keyword; undefined for one that is ignored. */
  function readKeyword(
    keyword: string,
    value: JsonValue,
    path: string,
  ): JsonValue | undefined {
    if (keyword === "const" || keyword === "default") return value;
    if (value === null) return undefined;
    if (keyword === "$ref" && !resolves(value, root)) {
      ignored.push(`${path} is ${showJson(value)}, which is no part of it`);
      return undefined;
    }
    const isValid = PLAIN.get(keyword)?.(value) ?? true;
    if (SCHEMA_MAP.has(keyword) && isObject(value)) {
      return Object.fromEntries(
        Object.entries(value).map(([name, below]) => [
          name,
          readSchema(below, `${path}.${name}`),
        ]),
      );
    }
    if (
      Array.isArray(value) &&
      (SCHEMA_LIST.has(keyword) || keyword === "items")
    ) {
      return value.map((below, at) => readSchema(below, `${path}.${at}`));
    }
    if (SCHEMA.has(keyword)) return readSchema(value, path);
    if (isValid && !SCHEMA_MAP.has(keyword) && !SCHEMA_LIST.has(keyword)) {
      return value;
    }
    ignored.push(`${path} is ${showJson(value)}`);
    return undefined;
  }

  const schema = readSchema(root, "inputSchema");
  return { schema: isObject(schema) ? schema : {}, ignored };
}

type Entry = [string, JsonValue];

/** Whether a reference is a JSON pointer to a part of the root. */
function resolves(reference: JsonValue, root: JsonObject): boolean {
  if (reference === "#") return true;
  if (typeof reference !== "string" || !reference.startsWith("#/"))
    return false;
  let found: JsonValue | undefined = root;
  for (const segment of reference.slice(2).split("/")) {
    const key = decode(segment).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null) return false;
    found = Object.entries(found).find(([name]) => name === key)?.[1];
  }
  return isObject(found) || typeof found === "boolean";
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
