import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { keepStart } from "@devtool/internal/cut-text";
import { PushConfigSchema, type PushService } from "@devtool/schema";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import { hidePushSecrets } from "../push/hide-push-secrets.ts";
import type { PushRegistrar } from "../push/push-registrar.ts";
import { principalOf } from "./caller.ts";
import type { Exchanges } from "./exchange.ts";

/**
 * Creates the handler of `PushService` (PUSH-1). Without a registrar, it
 * refuses every request.
 */
export function createPushHandler(
  exchanges?: Exchanges,
  registrar?: PushRegistrar,
): ServiceImpl<typeof PushService> {
  if (!exchanges || !registrar) {
    const refuse = (): never => {
      throw pushNotSupported();
    };
    return {
      setPushConfig: refuse,
      getPushConfig: refuse,
      listPushConfigs: refuse,
      deletePushConfig: refuse,
    };
  }
  const findTask = (taskId: string, context: HandlerContext) =>
    exchanges.taskOf(taskId, principalOf(context));
  return {
    async setPushConfig({ config = create(PushConfigSchema) }, context) {
      const {
        id: taskId,
        principal,
        sequence,
      } = await findTask(config.taskId, context);
      const checked = await registrar.check(config, "config", context.signal);
      const start = { taskId, principal, after: sequence };
      const stored = await registrar.put(checked, start);
      // Nothing may be left of a task that was deleted meanwhile.
      await findTask(taskId, context).catch(async (reason: unknown) => {
        await registrar.delete(taskId, stored.id);
        throw reason;
      });
      return { config: hidePushSecrets(stored) };
    },
    async getPushConfig({ taskId, configId }, context) {
      await findTask(taskId, context);
      const configs = await registrar.list(taskId);
      const config = configs.find(
        ({ id }) => configId === "" || id === configId,
      );
      if (config) return { config: hidePushSecrets(config) };
      const problem = `push config ${quoted(configId)} of task ${quoted(taskId)} does not exist`;
      const details = { field: "config_id", value: keepStart(configId, 80) };
      throw new DevtoolError(problem, Code.NotFound, {
        remedy: "list the existing ones",
        details,
      });
    },
    async listPushConfigs({ taskId }, context) {
      await findTask(taskId, context);
      const configs = await registrar.list(taskId);
      return { configs: configs.map(hidePushSecrets) };
    },
    async deletePushConfig({ taskId, configId }, context) {
      await findTask(taskId, context);
      if (configId === "") {
        throw invalid(
          "config_id",
          "",
          "is missing",
          "name the config to delete",
        );
      }
      await registrar.delete(taskId, configId);
      return {};
    },
  };
}

/** Creates the error of a server without push notifications. */
export function pushNotSupported(): DevtoolError {
  return new DevtoolError(
    "push notifications are not supported",
    Code.Unimplemented,
    {
      remedy: "subscribe to the task instead",
    },
  );
}
