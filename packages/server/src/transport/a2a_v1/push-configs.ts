import { create } from "@bufbuild/protobuf";
import { type PushConfig, PushConfigSchema, PushService } from "@devtool/schema";
import {
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  ListTaskPushNotificationConfigsResponseSchema,
  pushConfigFromA2a,
  pushConfigToA2a,
  type TaskPushNotificationConfig,
} from "@devtool/schema/a2a-v1";
import { Code, DevtoolError, invalid } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { Call } from "./call.ts";
import { A2aFailure } from "./errors.ts";

const { setPushConfig, getPushConfig, listPushConfigs, deletePushConfig } = PushService.method;

/** Stores where to post the updates of a task. */
export async function createConfig(
  { push }: RequestHandler,
  asked: TaskPushNotificationConfig,
  { context }: Call,
): Promise<TaskPushNotificationConfig> {
  if (asked.taskId === "") throw invalid("taskId", "", "is missing: name the task");
  const request = create(setPushConfig.input, { config: pushConfigFromA2a(asked) });
  const { config } = await supported(async () => push.setPushConfig(request, context));
  return pushConfigToA2a(create(PushConfigSchema, config));
}

/** Gets one of the configs of a task. */
export async function getConfig(
  { push }: RequestHandler,
  { taskId, id }: { readonly taskId: string; readonly id: string },
  { context }: Call,
): Promise<TaskPushNotificationConfig> {
  const request = create(getPushConfig.input, { taskId, configId: id });
  const { config } = await supported(async () => push.getPushConfig(request, context));
  return pushConfigToA2a(create(PushConfigSchema, config));
}

/** Lists the configs of a task; a page token is the id of the last config of the page before. */
export async function listConfigs(
  { push }: RequestHandler,
  { taskId, pageSize, pageToken }: ListTaskPushNotificationConfigsRequest,
  { context }: Call,
): Promise<ListTaskPushNotificationConfigsResponse> {
  if (pageSize < 0) throw invalid("pageSize", String(pageSize), "must be 0 or more");
  const request = create(listPushConfigs.input, { taskId });
  const answer = await supported(async () => push.listPushConfigs(request, context));
  const { configs } = create(listPushConfigs.output, answer);
  const rest = afterToken(configs, pageToken);
  const page = rest.slice(0, pageSize || rest.length);
  const nextPageToken = page.length < rest.length ? (page.at(-1)?.id ?? "") : "";
  return create(ListTaskPushNotificationConfigsResponseSchema, { configs: page.map(pushConfigToA2a), nextPageToken });
}

/** Deletes one of the configs of a task; one that is gone is no error. */
export async function deleteConfig(
  { push }: RequestHandler,
  { taskId, id }: { readonly taskId: string; readonly id: string },
  { context }: Call,
): Promise<void> {
  const request = create(deletePushConfig.input, { taskId, configId: id });
  await supported(async () => push.deletePushConfig(request, context));
}

function afterToken(configs: readonly PushConfig[], pageToken: string): readonly PushConfig[] {
  if (pageToken === "") return configs;
  const index = configs.findIndex(({ id }) => id === pageToken);
  if (index < 0) throw invalid("pageToken", pageToken, "is no token that this server gave: start at the first page");
  return configs.slice(index + 1);
}

/** A server that posts nothing says so by the name that A2A has for it. */
async function supported<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (reason) {
    if (!(reason instanceof DevtoolError) || reason.code !== Code.Unimplemented) throw reason;
    throw new A2aFailure(reason.message, "PUSH_NOTIFICATION_NOT_SUPPORTED");
  }
}
