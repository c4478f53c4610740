import {
  type DescField,
  type DescMessage,
  type FileRegistry,
  type JsonObject,
  ScalarType,
} from "@bufbuild/protobuf";
import { commentOf } from "./protos.ts";

/** The files with the messages of the RFC. */
const RFC_FILES = ["command", "confirmation", "event", "settings", "tool_call"];

/**
 * Creates a JSON Schema for each message of the RFC, keyed by the name of the
 * message.
 */
export function jsonSchemas(
  protos: FileRegistry,
): ReadonlyMap<string, JsonObject> {
  const files = RFC_FILES.map((name) =>
    protos.getFile(`devtool/a2a/v1alpha/${name}.proto`),
  );
  const messages = files.flatMap((file) => file?.messages ?? []);
  return new Map(
    messages.map((message) => [message.name, documentOf(message)]),
  );
}

/**
 * Creates a self-contained document: the messages that it refers to are in its
 * `$defs`.
 */
function documentOf(message: DescMessage): JsonObject {
  const others = reachable([message]).filter((other) => other !== message);
  const refer = (other: DescMessage): string =>
    other === message ? "#" : `#/$defs/${other.name}`;
  const definitions = others.map((other) => [
    other.name,
    closed(messageSchema(other, refer)),
  ]);
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: `urn:devtool:a2a:v1alpha:${message.name}`,
    title: message.name,
    ...closed(messageSchema(message, refer)),
    ...(definitions.length > 0 && { $defs: Object.fromEntries(definitions) }),
  };
}

/**
 * Forbids other keys. Writers of this version produce none; readers may accept
 * more than the schema says.
 */
function closed(schema: JsonObject): JsonObject {
  return { ...schema, additionalProperties: false };
}

/**
 * Returns the messages and all messages that they contain at any depth, except
 * those of protobuf itself.
 */
export function reachable(messages: readonly DescMessage[]): DescMessage[] {
  const found = new Set(messages);
  for (const message of found) {
    for (const { message: inner } of message.fields) {
      if (inner && !inner.typeName.startsWith("google.protobuf.")) {
        found.add(inner);
      }
    }
  }
  return [...found];
}

/**
 * Creates the schema of a message in ProtoJSON. `refer` returns the `$ref` of
 * another message.
 */
export function messageSchema(
  message: DescMessage,
  refer: (message: DescMessage) => string,
): JsonObject {
  const properties = message.fields.map((field) => [
    field.jsonName,
    { description: commentOf(field), ...fieldSchema(field, refer) },
  ]);
  const pairs = message.oneofs.flatMap(({ fields }) =>
    pairsOf(fields.map(({ jsonName }) => jsonName)),
  );
  return {
    description: commentOf(message),
    type: "object",
    properties: Object.fromEntries(properties),
    ...(pairs.length > 0 && {
      allOf: pairs.map((pair) => ({ not: { required: pair } })),
    }),
  };
}

/** All pairs of the members of a `oneof`, of which no two may be present. */
function pairsOf(names: readonly string[]): string[][] {
  return names.flatMap((name, index) =>
    names.slice(index + 1).map((other) => [name, other]),
  );
}

function fieldSchema(
  field: DescField,
  refer: (message: DescMessage) => string,
): JsonObject {
  switch (field.fieldKind) {
    case "list":
      return { type: "array", items: valueSchema(field, refer) };
    case "map":
      return {
        type: "object",
        additionalProperties: valueSchema(field, refer),
      };
    default:
      return valueSchema(field, refer);
  }
}

function valueSchema(
  field: DescField,
  refer: (message: DescMessage) => string,
): JsonObject {
  if (field.message) {
    return WELL_KNOWN[field.message.typeName] ?? { $ref: refer(field.message) };
  }
  if (field.enum) {
    const { typeName, values } = field.enum;
    return typeName === "google.protobuf.NullValue"
      ? { type: "null" }
      : { enum: values.map(({ name }) => name) };
  }
  if (field.scalar) return SCALARS[field.scalar];
  throw new Error(
    `field ${field} has no JSON Schema: add its kind to valueSchema`,
  );
}

const INT64: JsonObject = { type: "string", pattern: "^-?[0-9]+$" };
const UINT64: JsonObject = { type: "string", pattern: "^[0-9]+$" };
const INT32: JsonObject = {
  type: "integer",
  minimum: -(2 ** 31),
  maximum: 2 ** 31 - 1,
};
const UINT32: JsonObject = {
  type: "integer",
  minimum: 0,
  maximum: 2 ** 32 - 1,
};
const FLOAT: JsonObject = {
  anyOf: [{ type: "number" }, { enum: ["NaN", "Infinity", "-Infinity"] }],
};

const SCALARS: Readonly<Record<ScalarType, JsonObject>> = {
  [ScalarType.DOUBLE]: FLOAT,
  [ScalarType.FLOAT]: FLOAT,
  [ScalarType.INT64]: INT64,
  [ScalarType.UINT64]: UINT64,
  [ScalarType.INT32]: INT32,
  [ScalarType.FIXED64]: UINT64,
  [ScalarType.FIXED32]: UINT32,
  [ScalarType.BOOL]: { type: "boolean" },
  [ScalarType.STRING]: { type: "string" },
  [ScalarType.BYTES]: { type: "string", contentEncoding: "base64" },
  [ScalarType.UINT32]: UINT32,
  [ScalarType.SFIXED32]: INT32,
  [ScalarType.SFIXED64]: INT64,
  [ScalarType.SINT32]: INT32,
  [ScalarType.SINT64]: INT64,
};

const WELL_KNOWN: Readonly<Record<string, JsonObject>> = {
  "google.protobuf.Struct": { type: "object" },
  "google.protobuf.Value": {},
  "google.protobuf.ListValue": { type: "array" },
  "google.protobuf.Timestamp": { type: "string", format: "date-time" },
  "google.protobuf.Duration": {
    type: "string",
    pattern: "^-?[0-9]+(\\.[0-9]+)?s$",
  },
  "google.protobuf.Empty": { type: "object", properties: {} },
};
