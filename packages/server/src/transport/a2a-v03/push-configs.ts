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
import { type decodePushConfigParams, encodePushConfig, encodeStreamFrame, JsonRpcCode } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { PushEncoding } from "../../push/push-format.ts";
import { type AskedView, viewOf } from "../a2a/activation.ts";
import type { MethodCall } from "../a2a/method.ts";
import { JsonRpcFailure } from "../http/json-rpc.ts";

/** What is posted to those who set their config over A2A 0.3: what the `result` of a stream's frame would be. */
export const A2A_V03_PUSH_ENCODINGS: readonly (readonly [PushFormat, PushEncoding])[] = [
  [PushFormat.A2A_V03, encodingOf("extension")],
  [PushFormat.A2A_V03_PLAIN, encodingOf("plain")],
  [PushFormat.A2A_V03_INHERITED, encodingOf("inherited")],
];

function encodingOf(view: AskedView): PushEncoding {
  return {
    contentType: "application/json",
    encode: (event) => encodeStreamFrame(event, viewOf(view, event)),
  };
}

/** A config that posts what the caller of this call would be streamed. */
export function inFormatOf({ view }: Pick<MethodCall, "view">, config: PushConfig): PushConfig {
  return { ...config, format: FORMATS[view] };
}

const FORMATS: Readonly<Record<AskedView, PushFormat>> = {
  extension: PushFormat.A2A_V03,
  plain: PushFormat.A2A_V03_PLAIN,
  inherited: PushFormat.A2A_V03_INHERITED,
};

/** Names one config of a task, or all. */
type ConfigPlace = ReturnType<typeof decodePushConfigParams>;

/** Sets where the updates of a task are posted (section 7.5). */
export async function setConfig({ push }: RequestHandler, asked: PushConfig, call: MethodCall): Promise<JsonObject> {
  if (asked.taskId === "") throw new WireError("taskId", "", "is missing: name the task");
  const request = create(SetPushConfigRequestSchema, { config: inFormatOf(call, asked) });
  const { config } = await offered(push.setPushConfig(request, call.context));
  return encodePushConfig(create(PushConfigSchema, config));
}

/** Gets one config of a task (section 7.6). */
export async function getConfig({ push }: RequestHandler, place: ConfigPlace, call: MethodCall): Promise<JsonObject> {
  const { config } = await offered(push.getPushConfig(create(GetPushConfigRequestSchema, place), call.context));
  return encodePushConfig(create(PushConfigSchema, config));
}

/** Lists the configs of a task (section 7.7). */
export async function listConfigs(
  { push }: RequestHandler,
  { taskId }: ConfigPlace,
  call: MethodCall,
): Promise<JsonObject[]> {
  const request = create(ListPushConfigsRequestSchema, { taskId });
  const { configs = [] } = await offered(push.listPushConfigs(request, call.context));
  return configs.map((config) => encodePushConfig(create(PushConfigSchema, config)));
}

/** Deletes one config of a task (section 7.8). */
export async function deleteConfig({ push }: RequestHandler, place: ConfigPlace, call: MethodCall): Promise<null> {
  await offered(push.deletePushConfig(create(DeletePushConfigRequestSchema, place), call.context));
  return null;
}

/** An answer of our service. A server that posts nothing says so with A2A's own code. */
async function offered<T>(answer: T | Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (reason) {
    if (!(reason instanceof DevtoolError) || reason.code !== Code.Unimplemented) throw reason;
    throw new JsonRpcFailure(reason.message, JsonRpcCode.PUSH_NOTIFICATION_NOT_SUPPORTED);
  }
}
