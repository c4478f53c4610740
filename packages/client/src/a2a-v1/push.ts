import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { PushConfigSchema, type PushService } from "@devtool/schema";
import { A2AService, pushConfigFromA2a, pushConfigToA2a } from "@devtool/schema/a2a-v1";
import type { A2aBinding } from "./binding.ts";

/** Push notification configs over A2A 1.0, in one of the tenants of an agent. */
export function pushImplV1(binding: A2aBinding, tenant: string): ServiceImpl<typeof PushService> {
  const { method } = A2AService;
  return {
    async setPushConfig({ config = create(PushConfigSchema) }, { signal }) {
      const request = { ...pushConfigToA2a(config), tenant };
      const stored = await binding.call(method.createTaskPushNotificationConfig, request, signal);
      return { config: pushConfigFromA2a(stored) };
    },
    async getPushConfig({ taskId, configId }, { signal }) {
      const request = { taskId, id: configId, tenant };
      return { config: pushConfigFromA2a(await binding.call(method.getTaskPushNotificationConfig, request, signal)) };
    },
    async listPushConfigs({ taskId }, { signal }) {
      const { configs } = await binding.call(method.listTaskPushNotificationConfigs, { taskId, tenant }, signal);
      return { configs: configs.map(pushConfigFromA2a) };
    },
    async deletePushConfig({ taskId, configId }, { signal }) {
      await binding.call(method.deleteTaskPushNotificationConfig, { taskId, id: configId, tenant }, signal);
      return {};
    },
  };
}
