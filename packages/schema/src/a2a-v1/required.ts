import { type DescField, type DescMessage, getOption, type Message } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { FieldBehavior, field_behavior } from "../gen/google/api/field_behavior_pb.ts";
import { PartSchema } from "../gen/lf/a2a/v1/a2a_pb.ts";

/** What is wrong with one field of a request. */
export interface FieldViolation {
  /** The field, as a path in lowerCamelCase. */
  readonly field: string;
  readonly description: string;
}

/** Lists every field of a message that A2A 1.0 requires and that is not there, at any depth. */
export function missingFields(schema: DescMessage, message: Message): FieldViolation[] {
  return missingIn(reflect(schema, message), "");
}

function missingIn(message: ReflectMessage, path: string): FieldViolation[] {
  if (message.desc.typeName === PartSchema.typeName) return missingContent(message, path);
  return message.fields.flatMap((field) => {
    const at = path === "" ? field.jsonName : `${path}.${field.jsonName}`;
    if (!message.isSet(field)) return isRequired(field) ? [{ field: at, description: "is missing" }] : [];
    return missingBelow(message, field, at);
  });
}

function missingBelow(message: ReflectMessage, field: DescField, path: string): FieldViolation[] {
  if (field.message?.typeName.startsWith("google.protobuf.")) return [];
  if (field.fieldKind === "message") return missingIn(message.get(field), path);
  if (field.fieldKind !== "list" || field.listKind !== "message") return [];
  const items = [...message.get(field)];
  return items.flatMap((item, index) => (isReflected(item) ? missingIn(item, `${path}[${index}]`) : []));
}

function isReflected(value: unknown): value is ReflectMessage {
  return typeof value === "object" && value !== null && "desc" in value && "isSet" in value;
}

/** A part without content says nothing: the standard requires it in words, where its proto cannot. */
function missingContent(part: ReflectMessage, path: string): FieldViolation[] {
  const [content] = part.oneofs;
  if (content && part.oneofCase(content)) return [];
  return [{ field: path, description: "holds nothing: a part has text, raw, url or data" }];
}

const REQUIRED = new WeakMap<DescField, boolean>();

/** Tells whether A2A 1.0 requires a field. */
export function isRequired(field: DescField): boolean {
  const known = REQUIRED.get(field);
  if (known !== undefined) return known;
  const required = getOption(field, field_behavior).includes(FieldBehavior.REQUIRED);
  REQUIRED.set(field, required);
  return required;
}
