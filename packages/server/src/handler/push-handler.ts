import { create } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { type PushConfig, PushConfigSchema, type PushService, type Task } from "@devtool/schema";
import { Code, DevtoolError, invalid, quoted } from "../errors.ts";
import type { PushEncoding } from "../push/push-format.ts";
import type { PushRegistrar } from "../push/push-registrar.ts";
import { principalOf } from "./caller.ts";
import type { Exchanges } from "./exchange.ts";
import { shownEvent } from "./shown-settings.ts";

/** What a client may do with the push configs of its tasks (PUSH-1); refuses everything without a registrar. */
export function createPushHandler(exchanges?: Exchanges, registrar?: PushRegistrar): ServiceImpl<typeof PushService> {
  return exchanges && registrar ? pushService(exchanges, registrar) : refusingService();
}

function pushService(exchanges: Exchanges, registrar: PushRegistrar): ServiceImpl<typeof PushService> {
  return {
    async setPushConfig({ config = create(PushConfigSchema) }, context) {
      const { id: taskId, principal, sequence } = await taskOf(exchanges, config.taskId, context);
      const checked = await registrar.check(config, "config", context.signal);
      return { config: await registrar.put(checked, { taskId, principal, after: sequence }) };
    },
    async getPushConfig({ taskId, configId }, context) {
      await taskOf(exchanges, taskId, context);
      const configs = await registrar.list(taskId);
      return { config: configs.find(({ id }) => configId === "" || id === configId) ?? missing(taskId, configId) };
    },
    async listPushConfigs({ taskId }, context) {
      await taskOf(exchanges, taskId, context);
      return { configs: [...(await registrar.list(taskId))] };
    },
    async deletePushConfig({ taskId, configId }, context) {
      await taskOf(exchanges, taskId, context);
      if (configId === "") throw invalid("config_id", "", "is missing", "name the config to delete");
      await registrar.delete(taskId, configId);
      return {};
    },
  };
}

async function taskOf(exchanges: Exchanges, taskId: string, context: HandlerContext): Promise<Task> {
  using held = await exchanges.find(taskId, principalOf(context));
  return held.session.task;
}

function missing(taskId: string, configId: string): PushConfig {
  throw new DevtoolError(`push config ${quoted(configId)} of task ${quoted(taskId)} does not exist`, Code.NotFound, {
    remedy: "list those there are",
    details: { field: "config_id", value: configId.slice(0, 80) },
  });
}

function refusingService(): ServiceImpl<typeof PushService> {
  const refuse = (): never => {
    throw pushNotSupported();
  };
  return { setPushConfig: refuse, getPushConfig: refuse, listPushConfigs: refuse, deletePushConfig: refuse };
}

/** The error of a server that posts nothing. */
export function pushNotSupported(): DevtoolError {
  return new DevtoolError("push notifications are not supported", Code.Unimplemented, {
    remedy: "subscribe to the task instead",
  });
}

/** An encoding that posts events as clients may see them: without the secrets of a session's MCP servers (S12). */
export function shownEncoding(encoding: PushEncoding): PushEncoding {
  return { ...encoding, encode: (event) => encoding.encode(shownEvent(event)) };
}
