import type { JsonObject } from "@bufbuild/protobuf";
import { objectOrEmpty } from "../../json.ts";
import { mapObject } from "./map-json.ts";
import { messageFromRest, messageToRest } from "./message.ts";

/**
 * Writes the parameters of `message/send` and `message/stream` as the body of a request. An absent `blocking` means `true` in
 * JSON-RPC, as its SDKs have it, and `false` in ProtoJSON, so it is always written.
 */
export function sendParamsToRest({ message, configuration, ...rest }: JsonObject): JsonObject {
  return {
    ...rest,
    ...(message !== undefined && { message: messageToRest(message) }),
    configuration: { blocking: true, ...configurationToRest(objectOrEmpty(configuration)) },
  };
}

/** Reads the parameters of `message/send` and `message/stream` from the body of a request, in either form. */
export function sendParamsFromRest(body: JsonObject): JsonObject {
  const { message, request, configuration, ...rest } = body;
  const said = message ?? request;
  const unsaid: JsonObject = "content" in objectOrEmpty(said) ? PROTO_DEFAULTS : {};
  return {
    ...rest,
    ...(said !== undefined && { message: messageFromRest(said) }),
    ...(configuration !== undefined && {
      configuration: mapObject(configuration, (given) => ({ ...unsaid, ...configurationFromRest(given) })),
    }),
  };
}

/** In ProtoJSON a `false` is left out, so a configuration without `blocking` does not wait. */
const PROTO_DEFAULTS: JsonObject = { blocking: false };

function configurationToRest({ pushNotificationConfig, ...rest }: JsonObject): JsonObject {
  return { ...rest, ...(pushNotificationConfig !== undefined && { pushNotification: pushNotificationConfig }) };
}

function configurationFromRest(configuration: JsonObject): JsonObject {
  const { pushNotification, push_notification, ...rest } = configuration;
  const push = pushNotification ?? push_notification;
  return { ...rest, ...(push !== undefined && { pushNotificationConfig: push }) };
}
