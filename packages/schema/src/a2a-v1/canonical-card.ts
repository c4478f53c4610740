import type {
  DescField,
  DescMessage,
  JsonObject,
  JsonValue,
} from "@bufbuild/protobuf";
import { canonicalJson, isObject } from "@devtool/internal/json";
import { AgentCardSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { isRequired } from "./required.ts";

/**
 * Returns the text that the signature of a card covers (A2A 1.0, section 8.4).
 *
 * It is the card in canonical JSON (RFC 8785), without signatures, unknown
 * fields, and default values of fields that are neither required nor optional.
 *
 * The SDKs remove everything that is empty. For a card without empty values,
 * both rules give the same text; for other cards, the SDKs do not notice that
 * an empty value was removed.
 */
export function canonicalCard(card: JsonObject): string {
  const { signatures: _signatures, ...signed } = card;
  return canonicalJson(withoutDefaults(AgentCardSchema, signed));
}

function withoutDefaults(schema: DescMessage, json: JsonValue): JsonValue {
  if (!isObject(json) || schema.typeName.startsWith("google.protobuf.")) {
    return json;
  }
  const kept = schema.fields.flatMap((field): [string, JsonValue][] => {
    const value = json[field.jsonName] ?? json[field.name];
    if (value === undefined || value === null) return [];
    const inner = valueWithoutDefaults(field, value);
    // A field with presence can be present with its default value.
    const hasPresence =
      field.fieldKind === "message" ||
      field.oneof !== undefined ||
      field.proto.proto3Optional;
    const isEmptyList = Array.isArray(inner) && inner.length === 0;
    const isEmptyObject = isObject(inner) && Object.keys(inner).length === 0;
    const isDefault =
      isEmptyList ||
      isEmptyObject ||
      inner === "" ||
      inner === false ||
      inner === 0;
    return hasPresence || isRequired(field) || !isDefault
      ? [[field.jsonName, inner]]
      : [];
  });
  return Object.fromEntries(kept);
}

function valueWithoutDefaults(field: DescField, value: JsonValue): JsonValue {
  const { message } = field;
  if (!message) return value;
  if (field.fieldKind === "message") return withoutDefaults(message, value);
  if (Array.isArray(value)) {
    return value.map((item) => withoutDefaults(message, item));
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      withoutDefaults(message, item),
    ]),
  );
}
