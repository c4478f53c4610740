import { create, type JsonObject } from "@bufbuild/protobuf";
import { type PushConfig, PushConfigSchema, WireError } from "@devtool/schema";
import { encodePushConfig } from "@devtool/schema/a2a-v03";
import type { RequestHandler } from "../../handler/request-handler.ts";
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
  const { config = create(PushConfigSchema) } = await push.setPushConfig(
    { config: withFormat(call, asked) },
    call.context,
  );
  return encodePushConfig(config);
}

/** Returns one config of a task (section 7.6). */
export async function getConfig(
  { push }: RequestHandler,
  place: ConfigPlace,
  call: MethodCall,
): Promise<JsonObject> {
  const { config = create(PushConfigSchema) } = await push.getPushConfig(
    place,
    call.context,
  );
  return encodePushConfig(config);
}

/** Lists the configs of a task (section 7.7). */
export async function listConfigs(
  { push }: RequestHandler,
  { taskId }: ConfigPlace,
  call: MethodCall,
): Promise<JsonObject[]> {
  const { configs } = await push.listPushConfigs({ taskId }, call.context);
  return configs.map((config) => encodePushConfig(config));
}

/** Deletes one config of a task (section 7.8). */
export async function deleteConfig(
  { push }: RequestHandler,
  place: ConfigPlace,
  call: MethodCall,
): Promise<null> {
  await push.deletePushConfig(place, call.context);
  return null;
}
