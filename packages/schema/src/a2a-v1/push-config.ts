import { create } from "@bufbuild/protobuf";
import {
  type PushConfig,
  PushConfigSchema,
} from "../gen/devtool/v1alpha/push_service_pb.ts";
import {
  type TaskPushNotificationConfig,
  TaskPushNotificationConfigSchema,
} from "../gen/lf/a2a/v1/a2a_pb.ts";

/** Converts a push notification config to one of A2A 1.0. */
export function pushConfigToA2a({
  id,
  taskId,
  url,
  token,
  authentication,
}: PushConfig): TaskPushNotificationConfig {
  return create(TaskPushNotificationConfigSchema, {
    id,
    taskId,
    url,
    token,
    authentication: authentication && {
      scheme: authentication.scheme,
      credentials: authentication.credentials,
    },
  });
}

/**
 * Converts a push notification config of A2A 1.0 to ours. The id of the task
 * may be empty.
 */
export function pushConfigFromA2a(
  config: TaskPushNotificationConfig,
): PushConfig {
  const { id, taskId, url, token, authentication } = config;
  return create(PushConfigSchema, {
    id,
    taskId,
    url,
    token,
    authentication: authentication && {
      scheme: authentication.scheme,
      credentials: authentication.credentials,
    },
  });
}
