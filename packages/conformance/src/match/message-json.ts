import {
  createRegistry,
  type DescField,
  type DescMessage,
  type JsonValue,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { isObject, objectOrEmpty } from "@devtool/internal/json";
import {
  AgentSettingsSchema,
  DevelopmentToolEventSchema,
  SlashCommandSchema,
  ToolCallConfirmationSchema,
  ToolCallSchema,
} from "@devtool/schema";
import { inequality } from "./match.ts";

const REGISTRY = createRegistry(
  AgentSettingsSchema.file,
  DevelopmentToolEventSchema.file,
  SlashCommandSchema.file,
  ToolCallConfirmationSchema.file,
  ToolCallSchema.file,
);

/**
 * Compares the JSON of two messages of a type and describes the first
 * difference.
 *
 * Fields of the RFC's messages that hold their default are ignored if they have
 * no presence: ProtoJSON lets a writer include or omit them (JSON-2). JSON of
 * other types must be equal.
 */
export function messageInequality(
  type: string,
  expected: JsonValue,
  actual: JsonValue,
): string | undefined {
  const schema = REGISTRY.getMessage(type);
  return schema
    ? inequality(
        withoutDefaults(schema, expected),
        withoutDefaults(schema, actual),
      )
    : inequality(expected, actual);
}

function withoutDefaults(schema: DescMessage, json: JsonValue): JsonValue {
  if (!isObject(json)) return json;
  const fields = new Map(schema.fields.map((field) => [field.jsonName, field]));
  const entries = Object.entries(json).flatMap(
    ([key, value]): [string, JsonValue][] => {
      const field = fields.get(key);
      if (
        field?.presence === FeatureSet_FieldPresence.IMPLICIT &&
        isDefault(field, value)
      ) {
        return [];
      }
      const { message } = field ?? {};
      if (!message) return [[key, value]];
      const isList = Array.isArray(value);
      return [
        [
          key,
          isList
            ? value.map((item) => withoutDefaults(message, item))
            : withoutDefaults(message, value),
        ],
      ];
    },
  );
  return Object.fromEntries(entries);
}

function isDefault(field: DescField, value: JsonValue): boolean {
  switch (field.fieldKind) {
    case "list":
      return Array.isArray(value) && value.length === 0;
    case "map":
      return Object.keys(objectOrEmpty(value)).length === 0;
    case "enum":
      return value === field.enum.values[0]?.name;
    default:
      return value === "" || value === false || value === 0 || value === "0";
  }
}
