import type {
  DescField,
  DescMessage,
  JsonObject,
  JsonValue,
} from "@bufbuild/protobuf";
import { isObject, parseJsonOrUndefined } from "@devtool/internal/json";
import { WireError } from "@devtool/schema";

/**
 * Returns a function that takes the JSON text of a message, and returns it with
 * the names that generated code reads. Text that needs no change is returned as
 * it is, also text that is not valid JSON.
 *
 * The RFC's fields are snake_case in JSON (JSON-1), where ProtoJSON has
 * lowerCamelCase. Generated code reads only the former; the function renames
 * the latter. Throws a `WireError` for a field in both spellings.
 */
export function camelCaseReader(schema: DescMessage): (text: string) => string {
  let names: RegExp | undefined;
  return (text) => {
    names ??= namesPattern(schema);
    if (!names.test(text)) return text;
    const json = parseJsonOrUndefined(text);
    return isObject(json) ? JSON.stringify(renamed(schema, json, "")) : text;
  };
}

/** Finds a lowerCamelCase name that generated code does not read. */
function namesPattern(schema: DescMessage): RegExp {
  const names = new Set<string>();
  const visited = new Set<DescMessage>();
  const visit = (message: DescMessage): void => {
    if (visited.has(message) || isForeign(message)) return;
    visited.add(message);
    for (const field of message.fields) {
      if (field.localName !== field.jsonName) names.add(field.localName);
      if (field.message) visit(field.message);
    }
  };
  visit(schema);
  return names.size > 0 ? new RegExp(`"(?:${[...names].join("|")})"`) : /(?!)/;
}

/** Whether a message has a JSON form of its own, such as a `Struct`. */
function isForeign({ typeName }: DescMessage): boolean {
  return typeName.startsWith("google.protobuf.");
}

function renamed(
  schema: DescMessage,
  json: JsonObject,
  path: string,
): JsonObject {
  const entries = Object.entries(json).map(([key, value]) => {
    const field = schema.fields.find(
      ({ name, jsonName, localName }) =>
        key === name || key === jsonName || key === localName,
    );
    const at = path === "" ? key : `${path}.${key}`;
    if (!field) return [key, value] as const;
    const isOther = key === field.localName && key !== field.jsonName;
    if (isOther && field.jsonName in json) {
      const problem = `is given twice, also as ${field.jsonName}: send it once`;
      throw new WireError(at, "", problem);
    }
    const name = isOther ? field.jsonName : key;
    return [name, renamedValue(field, value, at)] as const;
  });
  return Object.fromEntries(entries);
}

function renamedValue(
  field: DescField,
  value: JsonValue,
  path: string,
): JsonValue {
  const { message } = field;
  if (!message || isForeign(message)) return value;
  const one = (item: JsonValue, at: string): JsonValue =>
    isObject(item) ? renamed(message, item, at) : item;
  if (Array.isArray(value)) {
    return value.map((item, index) => one(item, `${path}[${index}]`));
  }
  if (field.fieldKind !== "map" || !isObject(value)) return one(value, path);
  const entries = Object.entries(value).map(
    ([key, item]) => [key, one(item, `${path}.${key}`)] as const,
  );
  return Object.fromEntries(entries);
}
