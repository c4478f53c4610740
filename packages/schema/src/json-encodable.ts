import {
  type DescField,
  type DescMessage,
  type Message,
  toJson,
} from "@bufbuild/protobuf";
import {
  isReflectMessage,
  type ReflectMessage,
  reflect,
} from "@bufbuild/protobuf/reflect";
import { WireError } from "./wire-error.ts";

/**
 * Throws a `WireError` for a message with a value that JSON cannot hold, at any
 * depth: `NaN` in a `google.protobuf.Value`, one without a kind, a time out of
 * range.
 *
 * Binary messages can hold such values. Once one is in a log, no client that
 * reads JSON can read its task.
 */
export function assertJsonEncodable(
  schema: DescMessage,
  message: Message,
): void {
  assertFields(reflect(schema, message), "");
}

function assertFields(message: ReflectMessage, path: string): void {
  // The well-known types alone have values without JSON.
  if (message.desc.typeName.startsWith("google.protobuf.")) {
    try {
      toJson(message.desc, message.message);
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : String(cause);
      throw new WireError(path, "", `has no JSON form: ${problem}`, { cause });
    }
    return;
  }
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    const at = path === "" ? field.name : `${path}.${field.name}`;
    for (const value of valuesOf(message, field)) {
      if (isReflectMessage(value)) assertFields(value, at);
    }
  }
}

function valuesOf(
  message: ReflectMessage,
  field: DescField,
): Iterable<unknown> {
  if (field.fieldKind === "list") return message.get(field);
  if (field.fieldKind === "map") return message.get(field).values();
  return [message.get(field)];
}
