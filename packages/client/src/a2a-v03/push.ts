import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { PushService } from "@devtool/schema";
import { decodePushConfig, encodePushConfig } from "@devtool/schema/a2a-v03";
import { decodeEach } from "../a2a/decode-readable.ts";
import type { EndpointOptions } from "../a2a/endpoint.ts";
import type { RpcEndpoint } from "../a2a/rpc-endpoint.ts";
import { decodeAnswer } from "../a2a/wire.ts";

/**
 * Creates the service of push notification configs on top of A2A 0.3.
 */
export function createPushServiceV03(
  endpoint: RpcEndpoint,
  tell: EndpointOptions["onLeftOut"],
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
      return { config: decodeAnswer(() => decodePushConfig(stored)) };
    },
    async getPushConfig({ taskId, configId }, { signal }) {
      const stored = await call(
        "get",
        { id: taskId, pushNotificationConfigId: configId },
        signal,
      );
      return { config: decodeAnswer(() => decodePushConfig(stored)) };
    },
    async listPushConfigs({ taskId }, { signal }) {
      const stored = await call("list", { id: taskId }, signal);
      return { configs: decodeEach(stored, decodePushConfig, tell) };
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
