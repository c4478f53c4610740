import {
  type DescField,
  type DescMessage,
  getOption,
  type Message,
} from "@bufbuild/protobuf";
import {
  isReflectMessage,
  type ReflectMessage,
  reflect,
} from "@bufbuild/protobuf/reflect";
import {
  FieldBehavior,
  field_behavior,
} from "../gen/google/api/field_behavior_pb.ts";
import { PartSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";

/** A violated rule about a field of a request. */
export interface FieldViolation {
  /** Path of the field, in lowerCamelCase. */
  readonly field: string;
  readonly description: string;
}

/**
 * Maximum number of fields that an error lists: an entry is a hundred times as
 * large as the empty part that causes it.
 */
const MAX_VIOLATIONS = 20;

/**
 * Lists the missing fields of a message that A2A 1.0 requires, at any depth.
 * Returns at most 20.
 */
export function missingFields(
  schema: DescMessage,
  message: Message,
): FieldViolation[] {
  const found: FieldViolation[] = [];
  for (const violation of missingIn(reflect(schema, message), "")) {
    found.push(violation);
    if (found.length === MAX_VIOLATIONS) break;
  }
  return found;
}

function* missingIn(
  message: ReflectMessage,
  path: string,
): Generator<FieldViolation> {
  if (message.desc.typeName === PartSchema.typeName) {
    // The standard requires content in its text; its proto cannot express it.
    const [content] = message.oneofs;
    if (content && message.oneofCase(content)) return;
    return yield {
      field: path,
      description: "holds nothing: a part has text, raw, url or data",
    };
  }
  for (const field of message.fields) {
    const at = path === "" ? field.jsonName : `${path}.${field.jsonName}`;
    if (message.isSet(field)) {
      yield* missingBelow(message, field, at);
    } else if (isRequired(field)) {
      yield { field: at, description: "is missing" };
    }
  }
}

function* missingBelow(
  message: ReflectMessage,
  field: DescField,
  path: string,
): Generator<FieldViolation> {
  if (field.message?.typeName.startsWith("google.protobuf.")) return;
  if (field.fieldKind === "message") {
    return yield* missingIn(message.get(field), path);
  }
  if (field.fieldKind !== "list" || field.listKind !== "message") return;
  let index = 0;
  for (const item of message.get(field)) {
    if (isReflectMessage(item)) yield* missingIn(item, `${path}[${index}]`);
    index++;
  }
}

/**
 * Cached for each field: decoding its options takes 6 µs each time, and
 * checking an event of a stream takes 15 µs.
 */
const REQUIRED = new WeakMap<DescField, boolean>();

/** Returns whether A2A 1.0 requires a field. */
export function isRequired(field: DescField): boolean {
  const known = REQUIRED.get(field);
  if (known !== undefined) return known;
  const required = getOption(field, field_behavior).includes(
    FieldBehavior.REQUIRED,
  );
  REQUIRED.set(field, required);
  return required;
}
