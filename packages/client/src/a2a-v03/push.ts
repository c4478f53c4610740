import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { PushConfig, PushService } from "@devtool/schema";
import { decodePushConfig, encodePushConfig } from "@devtool/schema/a2a-v03";
import type { RpcEndpoint } from "../a2a/rpc-endpoint.ts";

/** Push notification configs over A2A 0.3. */
export function pushImplV03(endpoint: RpcEndpoint): ServiceImpl<typeof PushService> {
  const call = (verb: string, params: JsonObject, signal: AbortSignal): Promise<JsonValue> =>
    endpoint.call(`tasks/pushNotificationConfig/${verb}`, params, signal);
  return {
    async setPushConfig({ config }, { signal }) {
      return { config: decodePushConfig(await call("set", config ? encodePushConfig(config) : {}, signal)) };
    },
    async getPushConfig({ taskId, configId }, { signal }) {
      return {
        config: decodePushConfig(await call("get", { id: taskId, pushNotificationConfigId: configId }, signal)),
      };
    },
    async listPushConfigs({ taskId }, { signal }) {
      return { configs: configsOf(await call("list", { id: taskId }, signal)) };
    },
    async deletePushConfig({ taskId, configId }, { signal }) {
      await call("delete", { id: taskId, pushNotificationConfigId: configId }, signal);
      return {};
    },
  };
}

function configsOf(json: JsonValue): PushConfig[] {
  return Array.isArray(json) ? json.map(decodePushConfig) : [];
}
