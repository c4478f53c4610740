import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonObject,
  type JsonValue,
  type MessageShape,
  toJson,
} from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { defined, isObject } from "@devtool/internal/json";
import { SlashCommandSchema } from "./gen/devtool/a2a/v1alpha/command_pb.ts";
import { ToolCallConfirmationSchema } from "./gen/devtool/a2a/v1alpha/confirmation_pb.ts";
import { DevelopmentToolEventSchema } from "./gen/devtool/a2a/v1alpha/event_pb.ts";
import { AgentSettingsSchema } from "./gen/devtool/a2a/v1alpha/settings_pb.ts";
import { ToolCallSchema } from "./gen/devtool/a2a/v1alpha/tool_call_pb.ts";
import {
  assertBudget,
  DEFAULT_LIMITS,
  type JsonLimits,
  parseJson,
} from "./json-budget.ts";
import { assertIntegersOf } from "./plain-integers.ts";
import { findField, mistakeIn } from "./rfc-json-mistake.ts";
import { mistyped, WireError } from "./wire-error.ts";

/**
 * Decodes a message of the RFC or of A2A 0.3 from parsed JSON (JSON-2).
 *
 * It accepts snake_case and lowerCamelCase names and enums by number, and a
 * string for an integer only if it has decimal digits. It ignores unknown fields, and reads unknown enum names as the zero value.
 * Throws a `WireError` for anything else, and for JSON that exceeds a limit.
 * The error names the field below `path`, as the peer spelled it.
 */
export function decodeRfcJson<Desc extends DescMessage>(
  schema: Desc,
  json: unknown,
  path = "",
  limits: JsonLimits = DEFAULT_LIMITS,
): MessageShape<Desc> {
  assertBudget(json, limits);
  if (!isObject(json)) throw mistyped(path, json, "a JSON object");
  try {
    return readFields(schema, json);
  } catch (cause) {
    throw mistakeIn(schema, json, { path, cause, read: readFields });
  }
}

function readFields<Desc extends DescMessage>(
  schema: Desc,
  json: JsonObject,
): MessageShape<Desc> {
  return fromJson(schema, withJsonNames(schema, json), {
    ignoreUnknownFields: true,
  });
}

/**
 * Decodes a message of the RFC from JSON text, whose size is limited too.
 * Throws a `WireError` as `decodeRfcJson` does, and for text that is not valid
 * JSON.
 */
export function decodeRfcText<Desc extends DescMessage>(
  schema: Desc,
  text: string,
  limits: JsonLimits = DEFAULT_LIMITS,
): MessageShape<Desc> {
  return decodeRfcJson(schema, parseJson(text, limits), "", limits);
}

/**
 * Encodes a message of the RFC or of A2A 0.3 as JSON, with the names of the
 * standard (JSON-1).
 *
 * Fields with default values are written in the RFC's messages, unless the RFC
 * calls them optional (JSON-2), and omitted in those of A2A.
 */
export function encodeRfcJson<Desc extends DescMessage>(
  schema: Desc,
  message: MessageShape<Desc>,
): JsonObject {
  const json: JsonValue = toJson(schema, message, {
    alwaysEmitImplicit: RFC_FILES.has(schema.file.name),
  });
  if (!isObject(json)) {
    throw new WireError(schema.name, "", "is not written as a JSON object");
  }
  if (schema.typeName !== DevelopmentToolEventSchema.typeName) return json;
  const { user_tier, error, ...rest } = json;
  return defined({
    ...rest,
    user_tier: user_tier || undefined,
    error: error || undefined,
  });
}

const RFC_FILES: ReadonlySet<string> = new Set(
  [
    AgentSettingsSchema,
    DevelopmentToolEventSchema,
    ToolCallSchema,
    ToolCallConfirmationSchema,
    SlashCommandSchema,
  ].map(({ file }) => file.name),
);

/**
 * Converts plain data to the content of a `Struct`.
 *
 * Integers that a double cannot represent become strings (JSON-3). Half a
 * surrogate pair becomes U+FFFD. Values without a JSON form are omitted.
 */
export function structFromJson(value: object): JsonObject {
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const json = representable(item);
    return json === undefined
      ? []
      : [[key.toWellFormed(), json] satisfies [string, JsonValue]];
  });
  return Object.fromEntries(entries);
}

/** Converts JSON to a `Value`, the message for a field that holds any JSON. */
export function jsonValue(json: JsonValue): Value {
  return fromJson(ValueSchema, json);
}

function representable(value: unknown): JsonValue | undefined {
  switch (typeof value) {
    case "bigint":
      return value.toString();
    case "number":
      if (!Number.isFinite(value)) return undefined;
      return Number.isInteger(value) && !Number.isSafeInteger(value)
        ? BigInt(value).toString()
        : value;
    case "string":
      return value.toWellFormed();
    case "boolean":
      return value;
    case "object":
      if (value === null) return null;
      return Array.isArray(value)
        ? value.map((item) => representable(item) ?? null)
        : structFromJson(value);
    default:
      return undefined;
  }
}

/**
 * Renames keys to the names that the generated code reads, at any depth except
 * inside a `Struct`.
 */
function withJsonNames(schema: DescMessage, json: JsonObject): JsonObject {
  if (schema.typeName.startsWith("google.protobuf.")) return json;
  const entries = Object.entries(json).map(
    ([key, value]): [string, JsonValue] => {
      const field = findField(schema, key);
      return field ? [field.jsonName, fieldJson(field, value)] : [key, value];
    },
  );
  return Object.fromEntries(entries);
}

function fieldJson(field: DescField, value: JsonValue): JsonValue {
  assertIntegersOf(field, value);
  const inner = field.message;
  if (!inner || inner.typeName.startsWith("google.protobuf.")) return value;
  if (field.fieldKind === "list") {
    return Array.isArray(value)
      ? value.map((item) => messageJson(inner, item))
      : value;
  }
  if (field.fieldKind !== "map") return messageJson(inner, value);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, messageJson(inner, item)]),
  );
}

function messageJson(schema: DescMessage, value: JsonValue): JsonValue {
  return isObject(value) ? withJsonNames(schema, value) : value;
}
