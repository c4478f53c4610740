import { create } from "@bufbuild/protobuf";
import { fieldsOf } from "../fields-of.ts";
import {
  type PushConfig,
  PushConfigSchema,
} from "../gen/devtool/v1alpha/push_service_pb.ts";
import {
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from "../gen/lf/a2a/v1/a2a_pb.ts";

/** Converts a push notification config to one of A2A 1.0. */
export function pushConfigToA2a(
  config: PushConfig,
): TaskPushNotificationConfig {
  const { authentication } = config;
  return create(TaskPushNotificationConfigSchema, {
    ...fieldsOf(config),
    authentication: authentication && fieldsOf(authentication),
  });
}

/**
 * Converts a push notification config of A2A 1.0 to ours. The id of the task
 * may be empty.
 */
export function pushConfigFromA2a(
  config: TaskPushNotificationConfig,
): PushConfig {
  const { authentication } = config;
  return create(PushConfigSchema, {
    ...fieldsOf(config),
    authentication: authentication && fieldsOf(authentication),
  });
}
