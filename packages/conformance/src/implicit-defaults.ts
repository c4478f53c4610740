import { createRegistry, type DescField, type DescMessage, type JsonValue } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import {
  AgentSettingsSchema,
  DevelopmentToolEventSchema,
  SlashCommandSchema,
  ToolCallConfirmationSchema,
  ToolCallSchema,
} from "@devtool/schema";
import { fieldsOf } from "./json-fields.ts";

const REGISTRY = createRegistry(
  AgentSettingsSchema.file,
  DevelopmentToolEventSchema.file,
  SlashCommandSchema.file,
  ToolCallConfirmationSchema.file,
  ToolCallSchema.file,
);

/**
 * The JSON of one of the RFC's messages without the fields that hold their default and have no presence of their own:
 * ProtoJSON lets a writer put them in or leave them out (JSON-2). JSON of another type is given back as it is.
 */
export function withoutImplicitDefaults(type: string, json: JsonValue): JsonValue {
  const schema = REGISTRY.getMessage(type);
  return schema ? stripped(schema, json) : json;
}

function stripped(schema: DescMessage, json: JsonValue): JsonValue {
  if (typeof json !== "object" || json === null || Array.isArray(json)) return json;
  const fields = new Map(schema.fields.map((field) => [field.jsonName, field]));
  const entries = Object.entries(json).flatMap(([key, value]): [string, JsonValue][] => {
    const field = fields.get(key);
    if (field?.presence === FeatureSet_FieldPresence.IMPLICIT && isDefault(field, value)) return [];
    return [[key, field?.message ? strippedField(field.message, value) : value]];
  });
  return Object.fromEntries(entries);
}

function strippedField(schema: DescMessage, value: JsonValue): JsonValue {
  return Array.isArray(value) ? value.map((item) => stripped(schema, item)) : stripped(schema, value);
}

function isDefault(field: DescField, value: JsonValue): boolean {
  if (field.fieldKind === "list") return Array.isArray(value) && value.length === 0;
  if (field.fieldKind === "map") return Object.keys(fieldsOf(value)).length === 0;
  if (field.fieldKind === "enum") return value === field.enum.values[0]?.name;
  return value === "" || value === false || value === 0 || value === "0";
}
