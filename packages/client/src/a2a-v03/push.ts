import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { PushService } from "@devtool/schema";
import { decodePushConfig, encodePushConfig } from "@devtool/schema/a2a-v03";
import { listOrEmpty } from "@devtool/schema/json";
import type { RpcEndpoint } from "../a2a/rpc-endpoint.ts";

/**
 * Creates the service of push notification configs on top of A2A 0.3.
 */
export function createPushServiceV03(
  endpoint: RpcEndpoint,
): ServiceImpl<typeof PushService> {
  const call = (
    verb: string,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<JsonValue> =>
    endpoint.call(`tasks/pushNotificationConfig/${verb}`, params, signal);
  return {
    async setPushConfig({ config }, { signal }) {
      const stored = await call(
        "set",
        config ? encodePushConfig(config) : {},
        signal,
      );
      return { config: decodePushConfig(stored) };
    },
    async getPushConfig({ taskId, configId }, { signal }) {
      const stored = await call(
        "get",
        { id: taskId, pushNotificationConfigId: configId },
        signal,
      );
      return { config: decodePushConfig(stored) };
    },
    async listPushConfigs({ taskId }, { signal }) {
      const stored = await call("list", { id: taskId }, signal);
      return { configs: listOrEmpty(stored).map(decodePushConfig) };
    },
    async deletePushConfig({ taskId, configId }, { signal }) {
      await call(
        "delete",
        { id: taskId, pushNotificationConfigId: configId },
        signal,
      );
      return {};
    },
  };
}
