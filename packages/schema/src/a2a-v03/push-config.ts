import { create, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import {
  type PushNotificationConfig,
  PushNotificationConfigSchema,
  TaskPushNotificationConfigParamsSchema,
  TaskPushNotificationConfigSchema,
} from "../gen/devtool/a2a/v1alpha/envelope_pb.ts";
import {
  type PushConfig,
  PushConfigSchema,
} from "../gen/devtool/v1alpha/push_service_pb.ts";
import { decodeRfcJson, encodeRfcJson } from "../rfc-json.ts";
import { missing, quote, WireError } from "../wire-error.ts";

/** Encodes a push notification config with its task. */
export function encodePushConfig(config: PushConfig): JsonObject {
  const { taskId } = config;
  return encodeRfcJson(
    TaskPushNotificationConfigSchema,
    create(TaskPushNotificationConfigSchema, {
      taskId,
      pushNotificationConfig: pushEnvelope(config),
    }),
  );
}

/** Encodes a push notification config without its task. */
export function pushEnvelope({
  id,
  url,
  token,
  authentication,
}: PushConfig): PushNotificationConfig {
  return create(PushNotificationConfigSchema, {
    id,
    url,
    token,
    authentication: authentication && {
      schemes: [authentication.scheme],
      credentials: authentication.credentials,
    },
  });
}

/**
 * Decodes the parameters of `tasks/pushNotificationConfig/set`. Throws a
 * `WireError` that names the field.
 */
export function decodePushConfig(params: JsonValue | undefined): PushConfig {
  const { taskId, pushNotificationConfig } = decodeRfcJson(
    TaskPushNotificationConfigSchema,
    params ?? {},
  );
  if (!pushNotificationConfig) {
    throw missing("pushNotificationConfig");
  }
  return pushConfigOf(taskId, pushNotificationConfig);
}

/**
 * Decodes a push notification config. Of several authentication schemes, Bearer
 * or Basic is used; without one of them, it throws a `WireError`.
 */
export function pushConfigOf(
  taskId: string,
  { id, url, token, authentication }: PushNotificationConfig,
): PushConfig {
  return create(PushConfigSchema, {
    taskId,
    id,
    url,
    token,
    // An empty authentication is the same as none: the official test kit for
    // 0.3 sends one.
    authentication:
      authentication?.schemes.length || authentication?.credentials
        ? {
            scheme: schemeOf(authentication.schemes),
            credentials: authentication.credentials,
          }
        : undefined,
  });
}

function schemeOf(schemes: readonly string[]): string {
  const [only = "", ...others] = schemes;
  const scheme =
    others.length === 0
      ? only
      : schemes.find((name) => /^(?:bearer|basic)$/i.test(name));
  if (scheme !== undefined) return scheme;
  throw new WireError(
    "authentication.schemes",
    quote(schemes.join(", ")),
    "are several without Bearer or Basic: give the one to use",
  );
}

/**
 * Decodes the parameters of `tasks/pushNotificationConfig/get`, `list` and
 * `delete`.
 */
export function decodePushConfigParams(params: JsonValue | undefined): {
  readonly taskId: string;
  readonly configId: string;
} {
  const { id, pushNotificationConfigId } = decodeRfcJson(
    TaskPushNotificationConfigParamsSchema,
    params ?? {},
  );
  if (id === "") throw missing("id", "name the task");
  return { taskId: id, configId: pushNotificationConfigId };
}
