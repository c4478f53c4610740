import { create, type JsonValue } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { objectOrEmpty } from "@devtool/internal/json";
import {
  type PushConfig,
  PushConfigSchema,
  type PushService,
} from "@devtool/schema";
import {
  A2AService,
  decodeA2aJson,
  pushConfigFromA2a,
  pushConfigToA2a,
} from "@devtool/schema/a2a-v1";
import { decodeEach } from "../a2a/decode-readable.ts";
import type { EndpointOptions } from "../a2a/endpoint.ts";
import { type A2aBinding, callStrictly } from "./binding.ts";

/**
 * Creates the service of push notification configs on top of A2A 1.0. An empty
 * tenant is none.
 */
export function createPushServiceV1(
  binding: A2aBinding,
  tenant: string,
  tell: EndpointOptions["onLeftOut"],
): ServiceImpl<typeof PushService> {
  const { method } = A2AService;
  return {
    async setPushConfig({ config = create(PushConfigSchema) }, { signal }) {
      const request = { ...pushConfigToA2a(config), tenant };
      const stored = await callStrictly(
        binding,
        method.createTaskPushNotificationConfig,
        request,
        signal,
      );
      return { config: pushConfigFromA2a(stored) };
    },
    async getPushConfig({ taskId, configId }, { signal }) {
      const request = { taskId, id: configId, tenant };
      const stored = await callStrictly(
        binding,
        method.getTaskPushNotificationConfig,
        request,
        signal,
      );
      return { config: pushConfigFromA2a(stored) };
    },
    async listPushConfigs({ taskId }, { signal }) {
      const { configs = null, nextPageToken } = objectOrEmpty(
        await binding.call(
          method.listTaskPushNotificationConfigs,
          { taskId, tenant },
          signal,
        ),
      );
      const read = (json: JsonValue): PushConfig =>
        pushConfigFromA2a(
          decodeA2aJson(method.getTaskPushNotificationConfig.output, json),
        );
      if (nextPageToken) tell?.("the push configs of further pages");
      return { configs: decodeEach(configs, read, tell) };
    },
    async deletePushConfig({ taskId, configId }, { signal }) {
      await callStrictly(
        binding,
        method.deleteTaskPushNotificationConfig,
        { taskId, id: configId, tenant },
        signal,
      );
      return {};
    },
  };
}
