import type { JsonObject } from "@bufbuild/protobuf";
import { defined, objectOrEmpty } from "@devtool/internal/json";
import { mapObject } from "./map-json.ts";
import { messageFromRest, messageToRest } from "./message.ts";

/**
 * Writes the parameters of `message/send` and `message/stream` as the body of a
 * request.
 *
 * `blocking` is always written: if absent, it means true for SDKs in JSON-RPC,
 * but false in ProtoJSON.
 */
export function sendParamsToRest({
  message,
  configuration,
  ...rest
}: JsonObject): JsonObject {
  const { pushNotificationConfig, ...given } = objectOrEmpty(configuration);
  return defined({
    ...rest,
    message: message === undefined ? undefined : messageToRest(message),
    configuration: defined({
      blocking: true,
      ...given,
      pushNotification: pushNotificationConfig,
    }),
  });
}

/**
 * Reads the parameters of `message/send` and `message/stream` from the body of
 * a request, in either form.
 */
export function sendParamsFromRest(body: JsonObject): JsonObject {
  const { message, request, configuration, ...rest } = body;
  const sent = message ?? request;
  const defaults: JsonObject =
    "content" in objectOrEmpty(sent) ? PROTO_DEFAULTS : {};
  return defined({
    ...rest,
    message: sent === undefined ? undefined : messageFromRest(sent),
    configuration:
      configuration === undefined
        ? undefined
        : mapObject(
            configuration,
            ({ pushNotification, push_notification, ...given }) =>
              defined({
                ...defaults,
                ...given,
                pushNotificationConfig: pushNotification ?? push_notification,
              }),
          ),
  });
}

/**
 * ProtoJSON omits `false`, so a configuration without `blocking` does not wait.
 */
const PROTO_DEFAULTS: JsonObject = { blocking: false };
