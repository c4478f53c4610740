import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { AgentCardSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { canonicalJson, isObject } from "../json.ts";
import { isRequired } from "./required.ts";

/**
 * The text that a signature of a card is over (A2A 1.0, section 8.4): the card without signatures, without what the schema
 * does not know, and without defaults of fields that are neither required nor optional, in canonical JSON (RFC 8785).
 *
 * The SDKs leave out everything empty. A card without anything empty is the same text for them; of one with, they miss
 * when what is empty is taken away.
 */
export function canonicalCard(card: JsonObject): string {
  const { signatures: _signatures, ...signed } = card;
  return canonicalJson(withoutDefaults(AgentCardSchema, signed));
}

function withoutDefaults(schema: DescMessage, json: JsonValue): JsonValue {
  if (!isObject(json) || schema.typeName.startsWith("google.protobuf.")) return json;
  const kept = schema.fields.flatMap((field): [string, JsonValue][] => {
    const value = json[field.jsonName] ?? json[field.name];
    if (value === undefined || value === null) return [];
    const inner = valueWithoutDefaults(field, value);
    return hasPresence(field) || isRequired(field) || !isDefault(inner) ? [[field.jsonName, inner]] : [];
  });
  return Object.fromEntries(kept);
}

function valueWithoutDefaults(field: DescField, value: JsonValue): JsonValue {
  const { message } = field;
  if (!message) return value;
  if (field.fieldKind === "message") return withoutDefaults(message, value);
  if (Array.isArray(value)) return value.map((item) => withoutDefaults(message, item));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutDefaults(message, item)]));
}

/** Whether a field can say that it is there although it holds its default. */
function hasPresence({ fieldKind, oneof, proto }: DescField): boolean {
  return fieldKind === "message" || oneof !== undefined || proto.proto3Optional;
}

function isDefault(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) ? Object.keys(value).length === 0 : value === "" || value === false || value === 0;
}
