import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import {
  defined,
  isObject,
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { mapList, mapObject } from "./map-json.ts";

/**
 * Writes the parameters of `tasks/pushNotificationConfig/set` as the whole
 * request of the proto, as the SDKs for 0.3 read it.
 */
export function pushParamsToRest(params: JsonObject): JsonObject {
  const { id } = objectOrEmpty(params.pushNotificationConfig);
  return {
    parent: `tasks/${stringOrEmpty(params.taskId)}`,
    configId: stringOrEmpty(id),
    config: pushToRest(params),
  };
}

/**
 * Reads the parameters of `tasks/pushNotificationConfig/set`. The config may be
 * the body, its `config`, or the `pushNotificationConfig` of either.
 */
export function pushParamsFromRest(
  taskId: string,
  body: JsonObject,
): JsonObject {
  const inner = objectOrEmpty(body.config ?? body);
  const config = objectOrEmpty(
    inner.pushNotificationConfig ?? inner.push_notification_config ?? inner,
  );
  const { name: _name, ...pushNotificationConfig } = config;
  const id =
    stringOrEmpty(config.id) || stringOrEmpty(body.configId ?? body.config_id);
  return {
    taskId,
    pushNotificationConfig: defined({
      ...pushNotificationConfig,
      id: id || config.id,
    }),
  };
}

/**
 * Writes a push notification config in ProtoJSON, whose resource name holds
 * both ids.
 */
export function pushToRest(json: JsonValue): JsonObject {
  const { taskId, pushNotificationConfig } = objectOrEmpty(json);
  const config = objectOrEmpty(pushNotificationConfig);
  return {
    name: `tasks/${stringOrEmpty(taskId)}/pushNotificationConfigs/${stringOrEmpty(config.id)}`,
    pushNotificationConfig: config,
  };
}

/** Reads a push notification config in either form. */
export function pushFromRest(json: JsonValue): JsonValue {
  return mapObject(
    json,
    ({
      name,
      taskId,
      pushNotificationConfig,
      push_notification_config,
      ...rest
    }) => {
      const [, task = "", , id = ""] = stringOrEmpty(name).split("/");
      const config = pushNotificationConfig ?? push_notification_config ?? {};
      return {
        ...rest,
        taskId: taskId || task,
        pushNotificationConfig: mapObject(config, (given) =>
          defined({ id: id || undefined, ...given }),
        ),
      };
    },
  );
}

/** Writes the push notification configs of a task in ProtoJSON. */
export function pushListToRest(json: JsonValue): JsonObject {
  return { configs: listOrEmpty(json).map(pushToRest) };
}

/**
 * Reads the push notification configs of a task: as `configs`, or as a list
 * like in JSON-RPC.
 */
export function pushListFromRest(json: JsonValue): JsonValue {
  return mapList(isObject(json) ? (json.configs ?? []) : json, pushFromRest);
}
