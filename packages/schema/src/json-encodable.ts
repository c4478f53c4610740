import { type DescMessage, type Message, toJson } from "@bufbuild/protobuf";
import { isReflectMessage, type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { WireError } from "./wire-error.ts";

/**
 * Throws a `WireError` for a message with a value that JSON cannot hold, at any depth: `NaN` in a `google.protobuf.Value`, one
 * without a kind, a time out of range.
 *
 * Binary messages can hold such values. Once one is in a log, no client that reads JSON can read its task.
 */
export function assertJsonEncodable(schema: DescMessage, message: Message): void {
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
    const values: Iterable<unknown> =
      field.fieldKind === "list"
        ? message.get(field)
        : field.fieldKind === "map"
          ? message.get(field).values()
          : [message.get(field)];
    for (const value of values) if (isReflectMessage(value)) assertFields(value, at);
  }
}
