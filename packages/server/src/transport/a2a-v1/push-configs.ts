import { create } from "@bufbuild/protobuf";
import { type PushConfig, PushConfigSchema } from "@devtool/schema";
import {
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  ListTaskPushNotificationConfigsResponseSchema,
  pushConfigFromA2a,
  pushConfigToA2a,
  type TaskPushNotificationConfig,
} from "@devtool/schema/a2a-v1";
import { invalid } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";

import type { A2aV1Call } from "./call.ts";
import { PUSH_FORMATS } from "./push-encodings.ts";

/** One config of a task. */
interface ConfigPlace {
  readonly taskId: string;
  readonly id: string;
}

/**
 * Returns our own config for one of A2A. It posts what the caller would be
 * streamed.
 */
export function configFromA2a(
  asked: TaskPushNotificationConfig,
  { view }: A2aV1Call,
): PushConfig {
  return { ...pushConfigFromA2a(asked), format: PUSH_FORMATS[view] };
}

/** Sets a webhook for the updates of a task. */
export async function createConfig(
  { push }: RequestHandler,
  asked: TaskPushNotificationConfig,
  call: A2aV1Call,
): Promise<TaskPushNotificationConfig> {
  if (asked.taskId === "") {
    throw invalid("taskId", "", "is missing", "name the task");
  }
  const { config = create(PushConfigSchema) } = await push.setPushConfig(
    { config: configFromA2a(asked, call) },
    call.context,
  );
  return pushConfigToA2a(config);
}

/** Returns one config of a task. */
export async function getConfig(
  { push }: RequestHandler,
  { taskId, id }: ConfigPlace,
  { context }: A2aV1Call,
): Promise<TaskPushNotificationConfig> {
  const { config = create(PushConfigSchema) } = await push.getPushConfig(
    { taskId, configId: id },
    context,
  );
  return pushConfigToA2a(config);
}

/**
 * Lists the configs of a task. A page token is the id of the last config on the
 * page before.
 */
export async function listConfigs(
  { push }: RequestHandler,
  { taskId, pageSize, pageToken }: ListTaskPushNotificationConfigsRequest,
  { context }: A2aV1Call,
): Promise<ListTaskPushNotificationConfigsResponse> {
  if (pageSize < 0) {
    throw invalid("pageSize", String(pageSize), "must be 0 or more");
  }
  const { configs } = await push.listPushConfigs({ taskId }, context);
  const last = configs.findIndex(({ id }) => id === pageToken);
  if (pageToken !== "" && last < 0) {
    throw invalid(
      "pageToken",
      pageToken,
      "is not a page token of this server",
      "start at the first page",
    );
  }
  const rest = pageToken === "" ? configs : configs.slice(last + 1);
  const page = rest.slice(0, pageSize || rest.length);
  const nextPageToken =
    page.length < rest.length ? (page.at(-1)?.id ?? "") : "";
  return create(ListTaskPushNotificationConfigsResponseSchema, {
    configs: page.map(pushConfigToA2a),
    nextPageToken,
  });
}

/**
 * Deletes one config of a task. Succeeds also for a config that does not exist.
 */
export async function deleteConfig(
  { push }: RequestHandler,
  { taskId, id }: ConfigPlace,
  { context }: A2aV1Call,
): Promise<void> {
  await push.deletePushConfig({ taskId, configId: id }, context);
}
