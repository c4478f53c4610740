import {
  fromJson,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { MESSAGE_SETTINGS_URI } from "../extension.ts";
import {
  type MessageSettings,
  MessageSettingsSchema,
} from "../gen/devtool/v1alpha/message_settings_pb.ts";
import { isObject } from "../json.ts";
import { quote, WireError } from "../wire-error.ts";

/**
 * Encodes the settings of a message as entries of its `metadata`. Empty if
 * there are none.
 */
export function messageSettingsMetadata(
  settings: MessageSettings | undefined,
): JsonObject {
  return settings
    ? { [MESSAGE_SETTINGS_URI]: toJson(MessageSettingsSchema, settings) }
    : {};
}

/**
 * Decodes the settings of a message from its `metadata`. Empty if there are
 * none.
 *
 * Throws a `WireError` for unknown fields and values: ignoring a setting would
 * not do what its sender asked for.
 */
export function decodeMessageSettings(metadata: JsonObject | undefined): {
  messageSettings?: MessageSettings;
} {
  const json: JsonValue | undefined = metadata?.[MESSAGE_SETTINGS_URI];
  if (json === undefined) return {};
  const place = `message.metadata[${JSON.stringify(MESSAGE_SETTINGS_URI)}]`;
  const remedy =
    'send "delivery" as "MESSAGE_DELIVERY_QUEUE" or "MESSAGE_DELIVERY_STEER", and "clientLabel" as text';
  if (!isObject(json)) {
    throw new WireError(place, quote(json), `must be an object: ${remedy}`);
  }
  try {
    return { messageSettings: fromJson(MessageSettingsSchema, json) };
  } catch (cause) {
    throw new WireError(place, quote(json), `cannot be read: ${remedy}`, {
      cause,
    });
  }
}
