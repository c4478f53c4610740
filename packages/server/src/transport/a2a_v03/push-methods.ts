import { create, type JsonValue } from "@bufbuild/protobuf";
import {
  DeletePushConfigRequestSchema,
  GetPushConfigRequestSchema,
  ListPushConfigsRequestSchema,
  type PushConfig,
  PushConfigSchema,
  PushFormat,
  PushService,
  SetPushConfigRequestSchema,
} from "@devtool/schema";
import { decodePushConfig, decodePushConfigParams, encodePushConfig, JsonRpcCode } from "@devtool/schema/a2a-v03";
import { Code, DevtoolError } from "../../errors.ts";
import type { RequestHandler } from "../../handler/request-handler.ts";
import type { PushEncoding } from "../../push/push-format.ts";
import { type Call, contextOf } from "./call.ts";
import { JsonRpcFailure } from "./errors.ts";
import { frameOf } from "./frames.ts";

/** What is posted to those who set their config over A2A 0.3: what the `result` of a stream's frame would be. */
export const A2A_V03_PUSH_ENCODINGS: readonly (readonly [PushFormat, PushEncoding])[] = [
  [PushFormat.A2A_V03, { contentType: "application/json", encode: (event) => frameOf(event, "extension") }],
  [PushFormat.A2A_V03_PLAIN, { contentType: "application/json", encode: (event) => frameOf(event, "plain") }],
];

/** A method that answers with one result. */
type PushMethod = (call: Call) => Promise<JsonValue>;

/** The methods `tasks/pushNotificationConfig/*` (A2A 0.3, sections 7.5 to 7.8). */
export function pushMethods(handler: RequestHandler): readonly (readonly [string, PushMethod])[] {
  return [
    ["tasks/pushNotificationConfig/set", answering((call) => setConfig(handler, call))],
    ["tasks/pushNotificationConfig/get", answering((call) => getConfig(handler, call))],
    ["tasks/pushNotificationConfig/list", answering((call) => listConfigs(handler, call))],
    ["tasks/pushNotificationConfig/delete", answering((call) => deleteConfig(handler, call))],
  ];
}

/** A config that posts what the caller of this call would be streamed. */
export function inFormatOf({ view }: Call, config: PushConfig): PushConfig {
  return { ...config, format: view === "extension" ? PushFormat.A2A_V03 : PushFormat.A2A_V03_PLAIN };
}

async function setConfig(handler: RequestHandler, call: Call): Promise<JsonValue> {
  const request = create(SetPushConfigRequestSchema, { config: inFormatOf(call, decodePushConfig(call.params)) });
  const { config } = await handler.push.setPushConfig(request, contextOf(call, PushService.method.setPushConfig));
  return encodePushConfig(create(PushConfigSchema, config));
}

async function getConfig(handler: RequestHandler, call: Call): Promise<JsonValue> {
  const request = create(GetPushConfigRequestSchema, decodePushConfigParams(call.params));
  const { config } = await handler.push.getPushConfig(request, contextOf(call, PushService.method.getPushConfig));
  return encodePushConfig(create(PushConfigSchema, config));
}

async function listConfigs(handler: RequestHandler, call: Call): Promise<JsonValue> {
  const { taskId } = decodePushConfigParams(call.params);
  const request = create(ListPushConfigsRequestSchema, { taskId });
  const context = contextOf(call, PushService.method.listPushConfigs);
  const { configs = [] } = await handler.push.listPushConfigs(request, context);
  return configs.map((config) => encodePushConfig(create(PushConfigSchema, config)));
}

async function deleteConfig(handler: RequestHandler, call: Call): Promise<JsonValue> {
  const request = create(DeletePushConfigRequestSchema, decodePushConfigParams(call.params));
  await handler.push.deletePushConfig(request, contextOf(call, PushService.method.deletePushConfig));
  return null;
}

/** A server that posts nothing says so with A2A's own code. */
function answering(method: PushMethod): PushMethod {
  return async (call) => {
    try {
      return await method(call);
    } catch (reason) {
      if (!(reason instanceof DevtoolError) || reason.code !== Code.Unimplemented) throw reason;
      throw new JsonRpcFailure(reason.message, JsonRpcCode.PUSH_NOTIFICATION_NOT_SUPPORTED);
    }
  };
}
