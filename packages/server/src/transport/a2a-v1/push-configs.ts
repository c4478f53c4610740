import { create } from "@bufbuild/protobuf";
import { type PushConfig, PushConfigSchema, PushFormat, PushService } from "@devtool/schema";
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
import type { PushEncoding } from "../../push/push-format.ts";
import { type AskedView, viewOf } from "../a2a/activation.ts";
import type { Call } from "./call.ts";
import { responseOf, textOf } from "./frames.ts";

const { setPushConfig, getPushConfig, listPushConfigs, deletePushConfig } = PushService.method;

/** How A2A 1.0 posts events: each as an element of a stream (section 4.3.3). */
export const A2A_V1_PUSH_ENCODINGS: readonly (readonly [PushFormat, PushEncoding])[] = [
  [PushFormat.A2A_V1, encodingOf("extension")],
  [PushFormat.A2A_V1_PLAIN, encodingOf("plain")],
  [PushFormat.A2A_V1_INHERITED, encodingOf("inherited")],
];

function encodingOf(view: AskedView): PushEncoding {
  return {
    contentType: "application/a2a+json",
    encode: (event) => {
      const response = responseOf(event, viewOf(view, event));
      return response && textOf(response);
    },
  };
}

/** A config as it is asked for: posts are in the form in which its client reads streams. */
export function configOf(asked: TaskPushNotificationConfig, { view }: Call): PushConfig {
  return { ...pushConfigFromA2a(asked), format: FORMATS[view] };
}

const FORMATS: Readonly<Record<AskedView, PushFormat>> = {
  extension: PushFormat.A2A_V1,
  plain: PushFormat.A2A_V1_PLAIN,
  inherited: PushFormat.A2A_V1_INHERITED,
};

/** Stores where to post the updates of a task. */
export async function createConfig(
  { push }: RequestHandler,
  asked: TaskPushNotificationConfig,
  call: Call,
): Promise<TaskPushNotificationConfig> {
  if (asked.taskId === "") throw invalid("taskId", "", "is missing", "name the task");
  const request = create(setPushConfig.input, { config: configOf(asked, call) });
  const { config } = await push.setPushConfig(request, call.context);
  return pushConfigToA2a(create(PushConfigSchema, config));
}

/** Gets one of the configs of a task. */
export async function getConfig(
  { push }: RequestHandler,
  { taskId, id }: { readonly taskId: string; readonly id: string },
  { context }: Call,
): Promise<TaskPushNotificationConfig> {
  const request = create(getPushConfig.input, { taskId, configId: id });
  const { config } = await push.getPushConfig(request, context);
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
  const answer = await push.listPushConfigs(request, context);
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
  await push.deletePushConfig(request, context);
}

function afterToken(configs: readonly PushConfig[], pageToken: string): readonly PushConfig[] {
  if (pageToken === "") return configs;
  const index = configs.findIndex(({ id }) => id === pageToken);
  if (index < 0) throw invalid("pageToken", pageToken, "is not a page token of this server", "start at the first page");
  return configs.slice(index + 1);
}
