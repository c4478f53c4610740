import { create, type JsonObject } from "@bufbuild/protobuf";
import {
  DeletePushConfigRequestSchema,
  GetPushConfigRequestSchema,
  ListPushConfigsRequestSchema,
  type PushConfig,
  PushConfigSchema,
  SetPushConfigRequestSchema,
  WireError,
} from "@devtool/schema";
import { encodePushConfig, JsonRpcCode } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import { JsonRpcFailure } from "../a2a/json-rpc.ts";
import type { MethodCall } from "../a2a/method.ts";
import { PUSH_FORMATS } from "./push-encodings.ts";

/** Returns a config that posts what the caller of a call would be streamed. */
export function withFormat(
  { view }: Pick<MethodCall, "view">,
  config: PushConfig,
): PushConfig {
  return { ...config, format: PUSH_FORMATS[view] };
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
