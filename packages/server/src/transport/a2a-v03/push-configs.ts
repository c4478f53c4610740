import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  DeletePushConfigRequestSchema,
  GetPushConfigRequestSchema,
  ListPushConfigsRequestSchema,
  type PushConfig,
  PushConfigSchema,
  PushFormat,
  SetPushConfigRequestSchema,
  WireError,
} from "@devtool/schema";
import {
  encodePushConfig,
  encodeStreamFrame,
  JsonRpcCode,
} from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { PushEncoding } from "../../push/push-format.ts";
import { type AskedView, viewOf } from "../a2a/activation.ts";
import type { MethodCall } from "../a2a/method.ts";
import { withAnswer } from "../a2a/turn-answer.ts";
import { JsonRpcFailure } from "../http/json-rpc.ts";

/** The push format of configs that are set in each view. */
const FORMATS: Readonly<Record<AskedView, PushFormat>> = {
  extension: PushFormat.A2A_V03,
  plain: PushFormat.A2A_V03_PLAIN,
  inherited: PushFormat.A2A_V03_INHERITED,
};

/**
 * The encodings of notifications for configs set over A2A 0.3: the `result`
 * that the frame of a stream would have.
 */
export const A2A_V03_PUSH_ENCODINGS: readonly (readonly [
  PushFormat,
  PushEncoding,
])[] = [
  [FORMATS.extension, encodingFor("extension")],
  [FORMATS.plain, encodingFor("plain")],
  [FORMATS.inherited, encodingFor("inherited")],
];

function encodingFor(view: AskedView): PushEncoding {
  return {
    contentType: "application/json",
    encode: async (event, readTask) => {
      const shown = viewOf(view, event);
      const post =
        shown === "plain" ? await withAnswer(event, readTask) : event;
      return encodeStreamFrame(post, shown);
    },
  };
}

/** Returns a config that posts what the caller of a call would be streamed. */
export function withFormat(
  { view }: Pick<MethodCall, "view">,
  config: PushConfig,
): PushConfig {
  return { ...config, format: FORMATS[view] };
}

/** A task, and one of its configs, or an empty id for all of them. */
interface ConfigPlace {
  readonly taskId: string;
  readonly configId: string;
}

/** Sets a webhook for the updates of a task (section 7.5). */
export async function setConfig(
  { push }: RequestHandler,
  asked: PushConfig,
  call: MethodCall,
): Promise<JsonObject> {
  if (asked.taskId === "") {
    throw new WireError("taskId", "", "is missing: name the task");
  }
  const request = create(SetPushConfigRequestSchema, {
    config: withFormat(call, asked),
  });
  const { config } = await awaitPush(push.setPushConfig(request, call.context));
  return encodePushConfig(create(PushConfigSchema, config));
}

/** Returns one config of a task (section 7.6). */
export async function getConfig(
  { push }: RequestHandler,
  place: ConfigPlace,
  call: MethodCall,
): Promise<JsonObject> {
  const { config } = await awaitPush(
    push.getPushConfig(create(GetPushConfigRequestSchema, place), call.context),
  );
  return encodePushConfig(create(PushConfigSchema, config));
}

/** Lists the configs of a task (section 7.7). */
export async function listConfigs(
  { push }: RequestHandler,
  { taskId }: ConfigPlace,
  call: MethodCall,
): Promise<JsonObject[]> {
  const request = create(ListPushConfigsRequestSchema, { taskId });
  const { configs = [] } = await awaitPush(
    push.listPushConfigs(request, call.context),
  );
  return configs.map((config) =>
    encodePushConfig(create(PushConfigSchema, config)),
  );
}

/** Deletes one config of a task (section 7.8). */
export async function deleteConfig(
  { push }: RequestHandler,
  place: ConfigPlace,
  call: MethodCall,
): Promise<null> {
  await awaitPush(
    push.deletePushConfig(
      create(DeletePushConfigRequestSchema, place),
      call.context,
    ),
  );
  return null;
}

/**
 * Awaits an answer of our push service.
 *
 * Throws A2A's own error where the server posts no notifications.
 */
async function awaitPush<T>(answer: T | Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (reason) {
    if (
      !(reason instanceof DevtoolError) ||
      reason.code !== Code.Unimplemented
    ) {
      throw reason;
    }
    throw new JsonRpcFailure(
      reason.message,
      JsonRpcCode.PUSH_NOTIFICATION_NOT_SUPPORTED,
    );
  }
}
