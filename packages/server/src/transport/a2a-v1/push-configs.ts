import { create } from "@bufbuild/protobuf";
import {
  type PushConfig,
  PushConfigSchema,
  PushFormat,
  PushService,
} from "@devtool/schema";
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
import { withAnswer } from "../a2a/turn-answer.ts";
import type { Call } from "./call.ts";
import { encodeResponse, streamResponseFor } from "./frames.ts";

const { setPushConfig, getPushConfig, listPushConfigs, deletePushConfig } =
  PushService.method;

/** The push format of configs that are set in each view. */
const FORMATS: Readonly<Record<AskedView, PushFormat>> = {
  extension: PushFormat.A2A_V1,
  plain: PushFormat.A2A_V1_PLAIN,
  inherited: PushFormat.A2A_V1_INHERITED,
};

/**
 * The encodings of notifications for configs set over A2A 1.0: each event as an
 * element of a stream (section 4.3.3).
 */
export const A2A_V1_PUSH_ENCODINGS: readonly (readonly [
  PushFormat,
  PushEncoding,
])[] = [
  [FORMATS.extension, encodingFor("extension")],
  [FORMATS.plain, encodingFor("plain")],
  [FORMATS.inherited, encodingFor("inherited")],
];

function encodingFor(view: AskedView): PushEncoding {
  return {
    contentType: "application/a2a+json",
    encode: async (event, readTask) => {
      const shown = viewOf(view, event);
      const post =
        shown === "plain" ? await withAnswer(event, readTask) : event;
      const response = streamResponseFor(post, shown);
      return response && encodeResponse(response);
    },
  };
}

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
  { view }: Call,
): PushConfig {
  return { ...pushConfigFromA2a(asked), format: FORMATS[view] };
}

/** Sets a webhook for the updates of a task. */
export async function createConfig(
  { push }: RequestHandler,
  asked: TaskPushNotificationConfig,
  call: Call,
): Promise<TaskPushNotificationConfig> {
  if (asked.taskId === "") {
    throw invalid("taskId", "", "is missing", "name the task");
  }
  const request = create(setPushConfig.input, {
    config: configFromA2a(asked, call),
  });
  const { config } = await push.setPushConfig(request, call.context);
  return pushConfigToA2a(create(PushConfigSchema, config));
}

/** Returns one config of a task. */
export async function getConfig(
  { push }: RequestHandler,
  { taskId, id }: ConfigPlace,
  { context }: Call,
): Promise<TaskPushNotificationConfig> {
  const request = create(getPushConfig.input, { taskId, configId: id });
  const { config } = await push.getPushConfig(request, context);
  return pushConfigToA2a(create(PushConfigSchema, config));
}

/**
 * Lists the configs of a task. A page token is the id of the last config on the
 * page before.
 */
export async function listConfigs(
  { push }: RequestHandler,
  { taskId, pageSize, pageToken }: ListTaskPushNotificationConfigsRequest,
  { context }: Call,
): Promise<ListTaskPushNotificationConfigsResponse> {
  if (pageSize < 0) {
    throw invalid("pageSize", String(pageSize), "must be 0 or more");
  }
  const request = create(listPushConfigs.input, { taskId });
  const { configs } = create(
    listPushConfigs.output,
    await push.listPushConfigs(request, context),
  );
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
  { context }: Call,
): Promise<void> {
  await push.deletePushConfig(
    create(deletePushConfig.input, { taskId, configId: id }),
    context,
  );
}
