import {
  equals,
  type JsonObject,
  type JsonValue,
  toJson,
} from "@bufbuild/protobuf";
import { isObject, objectOrEmpty } from "@devtool/internal/json";
import { MESSAGE_SETTINGS_URI } from "../extension.ts";
import {
  type MessageSettings,
  MessageSettingsSchema,
} from "../gen/devtool/v1alpha/message_settings_pb.ts";
import { decodeStrictJson } from "../strict-json.ts";
import { quote, WireError } from "../wire-error.ts";
import { contradiction, type SettingsPlace } from "./settings.ts";

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
 * Decodes the settings of a message, strictly, from the `metadata` of the
 * request and of the message. Empty if there are none.
 *
 * Throws a `WireError` for unknown fields and values, and for settings that are
 * given twice with different values: ignoring a setting would not do what its
 * sender asked for.
 */
export function decodeMessageSettings(places: readonly SettingsPlace[]): {
  messageSettings?: MessageSettings;
} {
  const [messageSettings, ...others] = places.flatMap(({ metadata, path }) => {
    const json = objectOrEmpty(metadata)[MESSAGE_SETTINGS_URI];
    return json === undefined ? [] : [decodeSettings(json, path)];
  });
  if (!messageSettings) return {};
  if (
    others.some(
      (other) => !equals(MessageSettingsSchema, other, messageSettings),
    )
  ) {
    throw contradiction("message settings", []);
  }
  return { messageSettings };
}

function decodeSettings(json: JsonValue, path: string): MessageSettings {
  const place = `${path}[${JSON.stringify(MESSAGE_SETTINGS_URI)}]`;
  const remedy =
    'send "delivery" as "MESSAGE_DELIVERY_QUEUE" or "MESSAGE_DELIVERY_STEER", and "clientLabel" as text';
  if (!isObject(json)) {
    throw new WireError(place, quote(json), `must be an object: ${remedy}`);
  }
  try {
    return decodeStrictJson(MessageSettingsSchema, json, "");
  } catch (cause) {
    throw new WireError(place, quote(json), `cannot be read: ${remedy}`, {
      cause,
    });
  }
}
