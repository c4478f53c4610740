import {
  type DescMessage,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { isObject } from "@devtool/internal/json";
import { assertMessageForm } from "../a2a-v03/message-form.ts";
import { SendMessageRequestSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";
import { decodeRfcJson } from "../rfc-json.ts";
import { quote, WireError } from "../wire-error.ts";
import { type FieldViolation, isRequired } from "./required.ts";

/**
 * Decodes a message of A2A 1.0 from parsed JSON.
 *
 * It accepts lowerCamelCase and snake_case names, enums by name or number, and
 * ignores unknown fields. Throws a `WireError` for anything else, including
 * unknown enum names and numbers.
 */
export function decodeA2aJson<Desc extends DescMessage>(
  schema: Desc,
  json: JsonValue,
): MessageShape<Desc> {
  if (schema.typeName === SendMessageRequestSchema.typeName && isObject(json)) {
    assertMessageForm(json, "1.0");
  }
  const message = decodeRfcJson(schema, json);
  const [unknown] = unknownNames(schema, json, "");
  if (unknown) {
    throw new WireError(unknown.field, unknown.value, unknown.description);
  }
  return message;
}

/**
 * Encodes a message of A2A 1.0 as JSON. Fields that the standard requires are
 * written even if they are empty.
 */
export function encodeA2aJson<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
): JsonObject {
  const json: JsonValue = toJson(schema, message);
  if (!isObject(json)) {
    throw new WireError(schema.name, "", "is not written as a JSON object");
  }
  const missing = schema.fields.filter(
    (field) => isRequired(field) && !(field.jsonName in json),
  );
  if (missing.length === 0) return json;
  const zeros = missing.map((field): [string, JsonValue] => {
    if (field.fieldKind === "list") return [field.jsonName, []];
    if (field.fieldKind === "map" || field.fieldKind === "message") {
      return [field.jsonName, {}];
    }
    return [
      field.jsonName,
      field.fieldKind === "scalar" && field.scalar === ScalarType.STRING
        ? ""
        : 0,
    ];
  });
  return { ...json, ...Object.fromEntries(zeros) };
}

interface UnknownName extends FieldViolation {
  readonly value: string;
}

/**
 * Finds unknown enum names, which the ProtoJSON reader treats as the zero
 * value, and unknown numbers.
 */
function unknownNames(
  schema: DescMessage,
  json: JsonValue | undefined,
  path: string,
): UnknownName[] {
  if (!isObject(json) || schema.typeName.startsWith("google.protobuf.")) {
    return [];
  }
  return schema.fields.flatMap((field) => {
    const value = json[field.jsonName] ?? json[field.name];
    const at = path === "" ? field.jsonName : `${path}.${field.jsonName}`;
    if (field.fieldKind === "enum") {
      const isKnown = field.enum.values.some(
        ({ name, number }) => name === value || number === value,
      );
      if (isKnown || (value ?? null) === null) return [];
      const names = field.enum.values.map(({ name }) => name);
      return [
        {
          field: at,
          value: quote(value),
          description: `is not one of ${names.join(", ")}`,
        },
      ];
    }
    if (field.fieldKind === "message") {
      return unknownNames(field.message, value, at);
    }
    if (
      field.fieldKind !== "list" ||
      field.listKind !== "message" ||
      !Array.isArray(value)
    ) {
      return [];
    }
    return value.flatMap((item, index) =>
      unknownNames(field.message, item, `${at}[${index}]`),
    );
  });
}
