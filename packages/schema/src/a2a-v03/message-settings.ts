import { fromJson, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { MESSAGE_SETTINGS_URI } from "../extension.ts";
import { type MessageSettings, MessageSettingsSchema } from "../gen/devtool/v1alpha/message_settings_pb.ts";
import { isObject } from "../json.ts";
import { quote, WireError } from "../wire-error.ts";

/** The settings of a message as its `metadata` holds them; nothing when there are none. */
export function messageSettingsMetadata(settings: MessageSettings | undefined): JsonObject {
  return settings ? { [MESSAGE_SETTINGS_URI]: toJson(MessageSettingsSchema, settings) } : {};
}

/**
 * Reads the settings of a message off its `metadata`; nothing when there are none. Throws a `WireError` for anything that
 * is not understood, since a setting that is ignored is not what its sender asked for.
 */
export function decodeMessageSettings(metadata: JsonObject | undefined): { messageSettings?: MessageSettings } {
  const json: JsonValue | undefined = metadata?.[MESSAGE_SETTINGS_URI];
  if (json === undefined) return {};
  const place = `message.metadata[${JSON.stringify(MESSAGE_SETTINGS_URI)}]`;
  const remedy = 'send {"delivery": "MESSAGE_DELIVERY_QUEUE"} or {"delivery": "MESSAGE_DELIVERY_STEER"}';
  if (!isObject(json)) throw new WireError(place, quote(json), `must be an object: ${remedy}`);
  try {
    return { messageSettings: fromJson(MessageSettingsSchema, json) };
  } catch (cause) {
    throw new WireError(place, quote(json), `cannot be read: ${remedy}`, { cause });
  }
}
