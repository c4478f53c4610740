import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { canonicalJson, isObject, listOrEmpty, objectOrEmpty } from "./json.ts";

/** The keywords that APIs refuse at the root of a tool's schema. */
const REFUSED = ["anyOf", "oneOf", "allOf", "enum", "not"] as const;

/** How deep alternatives within alternatives are read. */
const MAX_DEPTH = 8;

/**
 * Returns the JSON Schema of a tool's arguments without alternatives at its
 * root: Anthropic and OpenAI refuse each request that declares such a tool.
 *
 * The properties of all alternatives become those of the root, so that the
 * model knows them. Which of them go together is checked when it calls.
 */
export function objectSchema(schema: JsonObject): JsonObject {
  if (schema.type === "object" && !REFUSED.some((word) => word in schema)) {
    return schema;
  }
  const { anyOf, oneOf, allOf, enum: _enum, not: _not, ...rest } = schema;
  const parts = partsOf(schema, schema, 0);
  const required = [schema, ...listOrEmpty(allOf).filter(isObject)].flatMap(
    (part) => listOrEmpty(part.required),
  );
  return {
    ...rest,
    type: "object",
    properties: joinProperties(parts),
    required: [...new Set(required)],
  };
}

/** Returns a schema and all its alternatives, with local references followed. */
function partsOf(
  schema: JsonObject,
  root: JsonObject,
  depth: number,
): JsonObject[] {
  if (depth > MAX_DEPTH) return [];
  const below = [schema.anyOf, schema.oneOf, schema.allOf].flatMap(listOrEmpty);
  const name = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(
    typeof schema.$ref === "string" ? schema.$ref : "",
  );
  const referred = objectOrEmpty(root[name?.[1] ?? ""])[name?.[2] ?? ""];
  return [
    schema,
    ...[...below, referred]
      .filter(isObject)
      .flatMap((part) => partsOf(part, root, depth + 1)),
  ];
}

/** Joins properties; one that has several schemas may have any of them. */
function joinProperties(parts: readonly JsonObject[]): JsonObject {
  const schemas = new Map<string, Map<string, JsonValue>>();
  for (const { properties } of parts) {
    for (const [name, schema] of Object.entries(objectOrEmpty(properties))) {
      const known = schemas.get(name) ?? new Map<string, JsonValue>();
      schemas.set(name, known.set(canonicalJson(schema), schema));
    }
  }
  return Object.fromEntries(
    [...schemas].map(([name, known]) => {
      const [first = {}, ...others] = known.values();
      return [
        name,
        others.length === 0 ? first : { anyOf: [...known.values()] },
      ];
    }),
  );
}
